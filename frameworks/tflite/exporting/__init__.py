"""From a module in torch to a `.tflite` file.

exporter.py     the exporter as the harness sees it             process.py      its process: makes the module, saves it
converter.py    a script of its own, which makes the file       packages.py     the packages that this script needs

The converter (litert-torch) cannot be installed beside the harness: it needs older packages. So the model is saved as a
`.pt2` file, which a second process with packages of its own reads.
"""
