require 'sinatra/base'

class App < Sinatra::Base
  get '/hello/:name' do
    "hello #{params[:name]}, you are #{request.ip}"
  end
end
