package io.leasehold.benchmarks.measure;

import io.leasehold.servers.RedisServer;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads a server's own statistics. */
public final class ServerMeter {

    private static final Pattern COMMAND = Pattern.compile("cmdstat_([^:]+):calls=(\\d+),usec=(\\d+)");
    private static final Pattern CPU = Pattern.compile("used_cpu_(?:sys|user):([\\d.]+)");

    private static final Pattern READS = Pattern.compile("total_reads_processed:(\\d+)");

    private final RedisServer server;

    /** Uses a separate connection for each reading. */
    public ServerMeter(RedisServer server) {
        this.server = server;
    }

    /** Returns the server's work so far; the reading does not count. */
    public ServerUse look() {
        Map<String, CommandUse> commands = new TreeMap<>();
        Matcher command = COMMAND.matcher(server.call("INFO", "commandstats"));
        while (command.find()) {
            String name = command.group(1);
            if (!name.equals("info")) {
                commands.put(name, new CommandUse(Long.parseLong(command.group(2)), Long.parseLong(command.group(3))));
            }
        }
        double seconds = 0;
        Matcher cpu = CPU.matcher(server.call("INFO", "cpu"));
        while (cpu.find()) {
            seconds += Double.parseDouble(cpu.group(1));
        }
        Matcher reads = READS.matcher(server.call("INFO", "stats"));
        return new ServerUse(commands, seconds, reads.find() ? Long.parseLong(reads.group(1)) : 0);
    }
}
