"""Stand-in Android phones, from outside: a lab of them, each a container behind a proxy, and a private adb server.

lab         phones and their adb server, from start to end    phone        one phone, as a test sees it
container   the namespaces of one phone                       guest/       what runs inside them (standard library only)
proxy       the cable between adb server and adbd             packets      ADB's packets
adb_server  the private adb server                            supervisor   the process that ends it with its owner
binaries    Android's programs, found or fetched              debian       fetching packages without installing them
"""
