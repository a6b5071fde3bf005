import lib
lib.main()
