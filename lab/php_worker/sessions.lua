-- Requests of several visitors in turn: wrk ... -- COOKIE...
local requests, next_one = {}, 0

function init(arguments)
    for number, cookie in ipairs(arguments) do
        requests[number] = wrk.format("GET", nil, { Cookie = cookie })
    end
end

function request()
    next_one = next_one % #requests + 1
    return requests[next_one]
end
