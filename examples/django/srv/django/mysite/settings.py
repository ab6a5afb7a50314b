"""The least that Django asks for."""

SECRET_KEY = "of an example"
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "mysite.urls"
STATIC_URL = "/static/"
MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]
