"""What is reached through the tunnel of iOS 17 and later.

tunnels            tunnels to stand-in iPhones, in user space or by a network interface
tunnel_api         the HTTP API at which go-ios looks tunnels up
discovery          remote service discovery (RSD): properties, and which service is at which port
services           which services there are
app_service        CoreDevice's service that starts apps, for tests of Xcode
standard_streams   connections that become standard output of an app
core_device        requests and answers of CoreDevice
connection         RemoteXPC: messages over two streams of HTTP/2
http2              frames of HTTP/2, as far as RemoteXPC uses them
xpc                objects and messages of XPC as bytes
listeners          listening sockets of this machine
"""
