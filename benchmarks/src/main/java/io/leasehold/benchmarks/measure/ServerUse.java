package io.leasehold.benchmarks.measure;

import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/**
 * What a server has done: since it started, or between two looks at it.
 *
 * @param commands by name
 * @param cpuSeconds user and system time of the server
 */
public record ServerUse(Map<String, CommandUse> commands, double cpuSeconds) {

    private static final CommandUse NOTHING = new CommandUse(0, 0);

    /** Keeps the commands in order. */
    public ServerUse {
        commands = Collections.unmodifiableMap(new TreeMap<>(commands));
    }

    /** What came after the earlier look. */
    public ServerUse since(ServerUse earlier) {
        Map<String, CommandUse> difference = new TreeMap<>();
        commands.forEach((name, use) -> {
            CommandUse more = use.minus(earlier.commands.getOrDefault(name, NOTHING));
            if (more.calls() > 0) {
                difference.put(name, more);
            }
        });
        return new ServerUse(difference, cpuSeconds - earlier.cpuSeconds);
    }

    /** All commands, those inside scripts included. */
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
