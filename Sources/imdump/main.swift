print("imdump")
