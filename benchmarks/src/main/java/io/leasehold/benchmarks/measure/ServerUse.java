package io.leasehold.benchmarks.measure;

import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/**
 * The work of a server, since its start or between two readings.
 *
 * @param commands by name
 * @param cpuSeconds user and system time of the server
 * @param reads the number of reads from connections; commands that arrive together are read together
 */
public record ServerUse(Map<String, CommandUse> commands, double cpuSeconds, long reads) {

    /** The use of a server that does nothing, or is not queried. */
    public static final ServerUse NONE = new ServerUse(Map.of(), 0, 0);

    private static final CommandUse NOTHING = new CommandUse(0, 0);

    /** Keeps the commands in order. */
    public ServerUse {
        commands = Collections.unmodifiableMap(new TreeMap<>(commands));
    }

    /** The work since the earlier reading. */
    public ServerUse since(ServerUse earlier) {
        Map<String, CommandUse> difference = new TreeMap<>();
        commands.forEach((name, use) -> {
            CommandUse more = use.minus(earlier.commands.getOrDefault(name, NOTHING));
            if (more.calls() > 0) {
                difference.put(name, more);
            }
        });
        return new ServerUse(difference, cpuSeconds - earlier.cpuSeconds, reads - earlier.reads);
    }

    /** The work of two servers together. */
    public ServerUse plus(ServerUse other) {
        Map<String, CommandUse> sum = new TreeMap<>(commands);
        other.commands.forEach((name, use) -> sum.merge(name, use, CommandUse::plus));
        return new ServerUse(sum, cpuSeconds + other.cpuSeconds, reads + other.reads);
    }

    /** All commands, including those from scripts. */
    public long calls() {
        return commands.values().stream().mapToLong(CommandUse::calls).sum();
    }

    /** Scripts alone. */
    public long scripts() {
        return commands.entrySet().stream()
                .filter(entry -> entry.getKey().startsWith("eval"))
                .mapToLong(entry -> entry.getValue().calls())
                .sum();
    }
}
