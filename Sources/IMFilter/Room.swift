import IMWire
