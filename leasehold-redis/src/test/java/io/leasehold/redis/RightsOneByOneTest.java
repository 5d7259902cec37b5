package io.leasehold.redis;

import static io.leasehold.redis.NodeBench.NAME;
import static io.leasehold.redis.NodeBench.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.admin.ClientRecord;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.servers.RedisServer;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewReply;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Removes each documented right: a message names the command and the rule to paste, and that rule alone repairs it. The
 * documentation lists no unnecessary right.
 */
@Timeout(180)
@Tag("full")
class RightsOneByOneTest {

    private static final LockName FOREIGN = LockName.exactly("foreign");
    private static final Pattern ADVICE = Pattern.compile("ACL SETUSER <user> ([+~&][^\\s,\\]]+)");

    RedisServer start() {
        return RedisUnderTest.start(b -> b);
    }

    @Test
    void eachIsReportedWithTheRuleThatHeals() {
        List<String> wrong = new ArrayList<>();
        try (RedisServer server = start()) {
            List<String> rights = List.of(RedisErrors.RIGHTS.split(" "));
            for (String missing : rights) {
                if (missing.equals("+client|info")) {
                    // Without it, the scripts read what the connection would tell, which only takes longer.
                    continue;
                }
                String others = String.join(
                        " ",
                        rights.stream().filter(right -> !right.equals(missing)).toList());
                String user = "app" + rights.indexOf(missing);
                set(server, user, "on >secret resetchannels " + others);
                String found = whatIsWrong(server, user, missing);
                if (found != null) {
                    wrong.add(missing + ": " + found);
                }
            }
        }
        assertThat(wrong).isEmpty();
    }

    private static void set(RedisServer server, String user, String rules) {
        server.call(Stream.concat(Stream.of("ACL", "SETUSER", user), Arrays.stream(rules.split(" ")))
                .toArray(String[]::new));
    }

    private static String whatIsWrong(RedisServer server, String user, String missing) {
        List<String> said = said(server, user, missing);
        List<String> refused = refused(server);
        if (refused.isEmpty()) {
            return "nothing needs it";
        }
        List<String> rules = said.stream()
                .flatMap(text -> ADVICE.matcher(text).results().map(found -> found.group(1)))
                .map(rule -> rule.replaceFirst("[.]$", ""))
                .filter(rule -> !rule.startsWith("~lock") || missing.startsWith("~"))
                .distinct()
                .toList();
        if (rules.isEmpty()) {
            return "refused " + refused + ", and no rule was named: " + said;
        }
        rules.forEach(rule -> set(server, user, rule));
        said(server, user, missing);
        List<String> still = refused(server);
        return still.isEmpty() ? null : "after " + rules + " still refused: " + still;
    }

    private static List<String> refused(RedisServer server) {
        List<String> lines = server.call("ACL", "LOG").lines().toList();
        List<String> objects = new ArrayList<>();
        for (int i = 1; i < lines.size(); i++) {
            if (lines.get(i - 1).equals("object") && !lines.get(i).startsWith("client")) {
                objects.add(lines.get(i));
            }
        }
        return objects;
    }

    /** The messages in errors and in the log during all operations. */
    private static List<String> said(RedisServer server, String user, String missing) {
        server.call("FLUSHALL");
        server.call("SCRIPT", "FLUSH");
        server.call("ACL", "LOG", "RESET");
        List<String> said = new ArrayList<>();
        PrintStream before = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
        try (NodeBench bench = new NodeBench("redis://" + user + ":secret@127.0.0.1:" + server.port() + "/1")) {
            doEverything(server, bench, said);
            if (missing.equals("+ping")) {
                until(
                        "a ping was refused or answered",
                        () -> server.call("INFO", "commandstats").contains("cmdstat_ping"));
            }
        } catch (RuntimeException e) {
            said.add(String.valueOf(e.getMessage()));
        } finally {
            System.setErr(before);
        }
        log.toString(StandardCharsets.UTF_8).lines().forEach(said::add);
        server.call("CONFIG", "RESETSTAT");
        return said;
    }

    private static void doEverything(RedisServer server, NodeBench bench, List<String> said) {
        server.call("FLUSHALL");
        OwnerToken holder = bench.owner();
        OwnerToken woken = bench.owner();
        OwnerToken served = bench.owner();
        note(said, bench::probe);
        long ballot = bench.candidate();
        note(said, () -> bench.acquire(holder, ballot));
        note(said, () -> bench.renew(holder));
        note(said, () -> waiting(bench, woken, 0));
        note(said, () -> waiting(bench, served, 4_000_000_000L));
        note(said, () -> waiting(bench, woken, 0));
        note(said, () -> NodeBench.answer(bench.node.admin().describe(NAME)));
        note(said, () -> NodeBench.answer(bench.node.admin().waiters(NAME, 10)));
        note(said, () -> NodeBench.answer(bench.node.admin().list("*", 10)));
        note(said, () -> bench.release(holder, ballot));
        note(said, () -> bench.release(woken, 0));
        note(said, () -> waiting(bench, served, 4_000_000_000L));
        note(said, () -> bench.release(served, 0));

        server.call("FLUSHALL");
        ClientRecord record = new ClientRecord("host/1/test", "host", 1, "", Instant.now(), List.of());
        note(said, () -> NodeBench.answer(bench.node.operations().announce(record, 60_000_000_000L)));
        note(said, () -> bench.release(bench.owner(), bench.candidate()));
        note(said, () -> bench.acquire(bench.owner()));
        // So many waiters that some stand behind the front, retry there, leave, or move to the front.
        List<OwnerToken> many = Stream.generate(bench::owner).limit(16).toList();
        for (OwnerToken owner : many) {
            note(said, () -> waiting(bench, owner, 4_000_000_000L));
            note(said, () -> waiting(bench, owner, 4_000_000_000L));
        }
        note(said, () -> NodeBench.answer(bench.node.admin().waiters(NAME, 20)));
        note(said, () -> bench.release(many.get(15), 0));
        for (OwnerToken owner : many) {
            note(said, () -> bench.release(owner, 0));
        }
        server.call("FLUSHALL");
        note(said, () -> bench.acquire(bench.owner()));
        note(said, () -> waiting(bench, bench.owner(), 4_000_000_000L));
        note(said, () -> NodeBench.answer(bench.node.admin().forceRelease(NAME, null)));

        inDatabaseOne(server, "RPUSH", "lock:{foreign}", "x");
        note(said, () -> NodeBench.answer(bench.node.admin().describe(FOREIGN)));
        note(said, () -> NodeBench.answer(bench.node.operations().leaks()));
        note(said, () -> NodeBench.answer(bench.node.operations().diagnose()));
    }

    private static void inDatabaseOne(RedisServer server, String command, String key, String value) {
        server.call(
                "EVAL",
                "redis.call('SELECT', 1) return redis.call(ARGV[1], KEYS[1], ARGV[2])",
                "1",
                key,
                command,
                value);
    }

    private static NodeReply waiting(NodeBench bench, OwnerToken owner, long claimNanos) {
        AcquireRequest request = AcquireRequest.exclusive(
                        List.of(NAME),
                        owner,
                        "host/1/test",
                        TimeUnit.SECONDS.toNanos(300),
                        TimeUnit.SECONDS.toNanos(20))
                .waiting(TimeUnit.SECONDS.toNanos(60));
        CompletableFuture<NodeReply> reply =
                bench.node.acquire(new Ballot(request, bench.candidate() + 1_000_000, 1, claimNanos));
        return NodeBench.answer(reply);
    }

    private static void note(List<String> said, Supplier<Object> verb) {
        try {
            Object reply = verb.get();
            if (reply instanceof NodeReply.Failed failed) {
                said.add(failed.error().getMessage());
            } else if (reply instanceof ReleaseReply.Failed failed) {
                said.add(failed.error().getMessage());
            } else if (reply instanceof RenewReply.Failed failed) {
                said.add(failed.error().getMessage());
            } else {
                said.add(String.valueOf(reply));
            }
        } catch (RuntimeException | AssertionError e) {
            for (Throwable cause = e; cause != null; cause = cause.getCause()) {
                said.add(String.valueOf(cause.getMessage()));
            }
        }
    }
}
