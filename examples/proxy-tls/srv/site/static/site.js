document.title = "site"
