def check(binary, folder, report):
    pass
