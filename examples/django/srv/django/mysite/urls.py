from django.http import HttpResponse
from django.urls import path


def hello(request, name):
    return HttpResponse(f"hello {name} from Django, {request.META['REMOTE_ADDR']}")


urlpatterns = [path("hello/<name>/", hello)]
