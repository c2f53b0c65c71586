"""Code inside the namespaces of a stand-in phone. Nothing here may import an installed package.

controller  makes the phone, boots it, and obeys its owner    model      what kind of phone it is, and its files
init        process 1 of one boot                             rootfs     its file system
syscalls    what Python has no names for                      services/  Android's services as a shell script
"""
