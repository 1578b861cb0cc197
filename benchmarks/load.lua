-- Sends the requests of a file in turn, one path and one body a line; the arguments are the file, the token, how many
-- requests each thread sends at most (0: no limit) and the milliseconds between two requests of a connection.
local threads = {}

function setup(thread)
   thread:set("number", #threads)
   table.insert(threads, thread)
end

function init(args)
   local headers = {["Authorization"] = "Bearer " .. args[2], ["Content-Type"] = "application/json"}
   requests = {}
   for line in io.lines(args[1]) do
      local method, path, body = line:match("^(%S+) (%S+) ?(.*)$")
      table.insert(requests, wrk.format(method, path, headers, body))
   end
   limit, pause = tonumber(args[3]), tonumber(args[4])
   at, sent, received = math.floor(number * #requests / 2), 0, 0
   if limit > 0 or pause > 0 then
      delay = function()
         sent = sent + 1
         if limit > 0 then return sent > limit and 60000 or 0 end
         return math.random() * 2 * pause
      end
   end
   if limit > 0 then
      response = function()
         received = received + 1
         if received >= limit then wrk.thread:stop() end
      end
   end
end

function request()
   at = at % #requests + 1
   return requests[at]
end

function done(summary, latency, _)
   local errors = summary.errors
   io.write(string.format(
      '{"requests": %d, "seconds": %.6f, "p50": %.3f, "p95": %.3f, "p99": %.3f, "errors": %d}\n',
      summary.requests, summary.duration / 1e6, latency:percentile(50) / 1000, latency:percentile(95) / 1000,
      latency:percentile(99) / 1000, errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
