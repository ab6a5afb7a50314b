-- Asks for the same file of any of the sites, as workloads.py names them: wrk ... -- SITES CONNECTION
local requests = {}

function init(arguments)
    for number = 0, tonumber(arguments[1]) - 1 do
        local fields = { Host = "site-" .. number .. ".example.com", Connection = arguments[2] }
        requests[number + 1] = wrk.format("GET", nil, fields)
    end
end

function request()
    return requests[math.random(#requests)]
end
