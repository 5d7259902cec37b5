package io.leasehold.benchmarks.report;

import java.lang.management.ManagementFactory;
import java.lang.management.OperatingSystemMXBean;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.Map;

/** The conditions of a run, as far as the run itself can determine them. */
public final class Conditions {

    private Conditions() {}

    /**
     * Returns the conditions of a run; read them before the first measurement.
     *
     * @param command the command as entered
     * @param server the name and version
     */
    public static Map<String, String> now(String command, String server) {
        OperatingSystemMXBean machine = ManagementFactory.getOperatingSystemMXBean();
        Map<String, String> conditions = new LinkedHashMap<>();
        conditions.put("command", command);
        conditions.put("begun", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
        conditions.put(
                "machine",
                machine.getAvailableProcessors() + " processors shared by clients, server and this harness, "
                        + machine.getName() + " " + machine.getArch() + ", loopback");
        conditions.put("load average before", Numbers.show(machine.getSystemLoadAverage()));
        conditions.put("JDK", System.getProperty("java.vm.name") + " " + System.getProperty("java.runtime.version"));
        conditions.put("server", server);
        conditions.put(
                "drivers",
                "Lettuce " + version("io.lettuce.core.RedisClient") + ", Redisson " + version("org.redisson.Redisson")
                        + ", Jedis " + version("redis.clients.jedis.Jedis") + ", Spring Integration "
                        + version("org.springframework.integration.redis.util.RedisLockRegistry") + ", ShedLock "
                        + version("net.javacrumbs.shedlock.core.SimpleLock") + ", Curator "
                        + version("org.apache.curator.framework.CuratorFramework") + ", Netty "
                        + version("io.netty.channel.Channel"));
        return conditions;
    }

    private static String version(String type) {
        try {
            String version = Class.forName(type).getPackage().getImplementationVersion();
            if (version != null) {
                return version;
            }
            String jar = Class.forName(type)
                    .getProtectionDomain()
                    .getCodeSource()
                    .getLocation()
                    .getPath();
            String file = jar.substring(jar.lastIndexOf('/') + 1);
            return file.replaceAll("^[A-Za-z_-]+-(\\d.*)\\.jar$", "$1");
        } catch (ClassNotFoundException e) {
            return "not present";
        }
    }
}
