# Prints what identifies a phone and what it is made of; its state follows.
getprop
echo '[more]'
echo "id=$(id -u)"
echo "su=$(command -v su)"
echo "kernel=$(uname -r)"
read -r value 2>/dev/null </proc/sys/kernel/randomize_va_space && echo "randomize_va_space=$value"
echo "cores=$(ls -d /sys/devices/system/cpu/cpu[0-9]* | grep -c .)"
while read -r name kib rest; do [ "$name" = MemTotal: ] && echo "memory_kib=$kib"; done </proc/meminfo
cd /sys/devices/system/cpu/cpufreq 2>/dev/null && for policy in policy*; do
  for file in scaling_governor cpuinfo_max_freq related_cpus; do
    [ -r "$policy/$file" ] && read -r value <"$policy/$file" && echo "$policy.$file=$value"
  done
done
echo '[cpuinfo]'
grep -E '^(vendor_id|cpu family|model|flags|CPU implementer|CPU part|Features|isa|uarch)[[:space:]]*:' /proc/cpuinfo
echo '[state]'
