# Defines `keyguard_is_shown`, which succeeds when the phone shows its lock screen: `KeyguardServiceDelegate` and
# `KeyguardStateMonitor` in the dump of the window policy (Android 8 and later) say so.
keyguard_is_shown() {
  timeout 3 dumpsys window policy 2>/dev/null | grep -qE '(^|[^A-Za-z])(showing|mIsShowing)=true'
}
