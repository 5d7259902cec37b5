package io.leasehold.redis;

import io.leasehold.servers.RedisServer;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The number of executions of each command at a server and the number of its connections, without the cost of this
 * query itself.
 */
record CommandCounts(Map<String, Long> calls, long connections) {

    private static final String CALLS = "cmdstat_";
    private static final String CONNECTIONS = "total_connections_received:";

    static CommandCounts of(RedisServer server) {
        Map<String, Long> calls = new TreeMap<>();
        long connections = 0;
        for (String line : server.call("INFO", "everything").lines().toList()) {
            if (line.startsWith(CALLS)) {
                String[] parts = line.substring(CALLS.length()).split("[:=,]", 4);
                calls.put(parts[0], Long.parseLong(parts[2]));
            } else if (line.startsWith(CONNECTIONS)) {
                connections =
                        Long.parseLong(line.substring(CONNECTIONS.length()).strip());
            }
        }
        return new CommandCounts(calls, connections);
    }

    long of(String command) {
        return calls.getOrDefault(command, 0L);
    }

    /** The commands since the earlier counts, without this query. */
    CommandCounts since(CommandCounts before) {
        Map<String, Long> more = new TreeMap<>();
        calls.forEach((command, count) -> {
            long added = count - before.of(command) - (command.equals("info") ? 1 : 0);
            if (added > 0) {
                more.put(command, added);
            }
        });
        return new CommandCounts(more, connections - before.connections - 1);
    }

    /** Counts the commands that each of these servers executes during an action. */
    static List<CommandCounts> during(List<RedisServer> servers, Runnable meanwhile) {
        List<CommandCounts> before = servers.stream().map(CommandCounts::of).toList();
        meanwhile.run();
        return java.util.stream.IntStream.range(0, before.size())
                .mapToObj(i -> of(servers.get(i)).since(before.get(i)))
                .toList();
    }
}
