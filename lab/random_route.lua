-- Asks for any of the routes, as workloads.py names them: wrk ... -- ROUTES HOSTS
local requests = {}

function init(arguments)
    local routes, hosts = tonumber(arguments[1]), tonumber(arguments[2])
    for number = 0, routes - 1 do
        local host = "site-" .. (number % hosts) .. ".example.com"
        requests[number + 1] = wrk.format("GET", "/section-" .. number .. "/page", { Host = host })
    end
end

function request()
    return requests[math.random(#requests)]
end
