package io.leasehold.redis;

import static io.leasehold.redis.TopologyBench.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisReplicated;
import io.leasehold.servers.RedisSentinel;
import io.leasehold.servers.RedisSentinelGroup;
import io.leasehold.servers.RedisServer;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Removes the rights that only groups of servers need, one by one: a message names the command and the rule to paste.
 */
@Timeout(180)
@Tag("full")
final class TopologyRightsOneByOneTest {

    private static final String USER = "on >secret resetchannels " + RedisErrors.RIGHTS;

    private static void set(RedisServer server, String user, String rules) {
        server.call(words("ACL SETUSER " + user + " " + rules));
    }

    private static String[] words(String command) {
        return command.split(" ");
    }

    /** The messages of errors and of the log during a hand-over, until the expected one appears. */
    private static String said(String uri, List<RedisServer> servers, String expected) {
        PrintStream before = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        PrintStream heard = new PrintStream(log, true, StandardCharsets.UTF_8);
        System.setErr(heard);
        try (TopologyBench bench = new TopologyBench()) {
            LockClient client = bench.client(uri);
            LockClient other = bench.client(uri);
            Lease held = client.named("a").acquire();
            var waiting = other.named("a").attemptAsync(Duration.ofSeconds(20));
            until(
                    "it waits, or something is said",
                    () -> log.toString(StandardCharsets.UTF_8).contains(expected)
                            || servers.stream()
                                    .anyMatch(server ->
                                            !server.call("KEYS", "*:queued").isBlank()));
            held.close();
            waiting.join();
            until("it is said", () -> log.toString(StandardCharsets.UTF_8).contains(expected));
        } catch (RuntimeException | InterruptedException e) {
            for (Throwable cause = e; cause != null; cause = cause.getCause()) {
                heard.println(cause.getMessage());
            }
        } finally {
            System.setErr(before);
        }
        return log.toString(StandardCharsets.UTF_8);
    }

    @Test
    void inACluster() {
        List<String> own = List.of("+cluster|slots", "+cluster|info", "+spublish", "+ssubscribe");
        try (RedisCluster cluster = Groups.cluster(0, node -> node)) {
            for (String missing : own) {
                String user = "app" + own.indexOf(missing);
                String rest = " +asking +sunsubscribe "
                        + String.join(
                                " ",
                                own.stream()
                                        .filter(right -> !right.equals(missing))
                                        .toList());
                cluster.nodes().forEach(node -> set(node, user, USER + rest));
                String uri = cluster.uri().replace("//", "//" + user + ":secret@");

                assertThat(said(uri, cluster.nodes(), "ACL SETUSER <user> " + missing))
                        .contains("ACL SETUSER <user> " + missing + ". ");
            }
        }
    }

    @Test
    void atAReplica() {
        try (RedisReplicated group =
                Groups.orSkip(() -> RedisReplicated.start(1, member -> member.user("app", USER)))) {
            String uri = group.uri().replace("//", "//app:secret@");
            set(group.replicas().get(0), "app", "-info");
            assertThat(said(uri, List.of(group.primary()), "ACL SETUSER <user> +info"))
                    .contains("127.0.0.1:" + group.replicas().get(0).port())
                    .contains("ACL SETUSER <user> +info. ");
            set(group.primary(), "app", "-wait");
            assertThat(said(
                            uri + "?waitReplicas=1&waitTimeout=1s",
                            List.of(group.primary()),
                            "ACL SETUSER <user> +wait"))
                    .contains("ACL SETUSER <user> +wait. ");
        }
    }

    @Test
    void atASentinel() {
        List<String> own =
                List.of("&+switch-master", "+sentinel|get-master-addr-by-name", "+sentinel|master", "+subscribe");
        try (RedisSentinelGroup group = Groups.sentinel(1, member -> member.user("app", USER))) {
            for (String missing : own) {
                String user = "watcher" + own.indexOf(missing);
                String rest = String.join(
                        " ",
                        own.stream().filter(right -> !right.equals(missing)).toList());
                for (RedisSentinel sentinel : group.sentinels()) {
                    sentinel.call(words("ACL SETUSER " + user + " on >hunter2 resetchannels " + rest));
                }
                String uri = group.uri().replace("//", "//app:secret@") + "?sentinelUser=" + user
                        + "&sentinelPassword=hunter2";

                assertThat(said(uri, List.of(group.primary()), "ACL SETUSER <user>"))
                        .as(missing)
                        .contains("Sentinel 127.0.0.1:")
                        .contains(missing.substring(1))
                        .contains("ACL SETUSER <user> &+switch-master +sentinel|get-master-addr-by-name");
            }
        }
    }
}
