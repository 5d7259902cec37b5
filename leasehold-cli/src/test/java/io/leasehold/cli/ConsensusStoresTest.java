package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.fencing.Admission;
import io.leasehold.fencing.FencingGuard;
import io.leasehold.servers.EtcdServer;
import io.leasehold.servers.RedisServer;
import io.leasehold.servers.ServerUnavailableException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests of every verb over real ZooKeeper and etcd servers, of URIs with several hosts, and of the messages about wrong
 * ones.
 */
@Tag("full")
class ConsensusStoresTest {

    /** The year 2030 in microseconds: above all present tokens of a Redis. */
    private static final long TOKEN_BASE = 1_900_000_000_000_000L;

    @TempDir
    private Path directory;

    private static Answer say(String store, String... arguments) {
        return Answer.of(Map.of("LEASEHOLD_STORE", store), arguments);
    }

    @Test
    void allVerbsWorkOverZooKeeper() throws Exception {
        try (TestingServer server = TestServers.zooKeeper()) {
            // No server is at port 1: the other host serves.
            allVerbsWork(
                    "zk://127.0.0.1:1," + server.getConnectString() + "/cli",
                    "while its session lasts",
                    "with-session");
        }
    }

    @Test
    void allVerbsWorkOverEtcd() {
        try (EtcdServer server = TestServers.etcd()) {
            allVerbsWork("etcd://127.0.0.1:1,127.0.0.1:" + server.port() + "/cli", "[0-9.]+s", "by-ttl");
        }
    }

    private void allVerbsWork(String store, String left, String ends) {
        // Again and again: the first look has not made what it missed.
        for (String verb : List.of("ls", "who job", "permits pool --count 2", "wait job")) {
            Answer look = say(store, verb.split(" "));
            assertThat(look.exitCode()).as(look.err()).isEqualTo(ExitCode.STORE_UNAVAILABLE.code());
            assertThat(look.err()).contains("there is no store at " + store + ": no lock was ever acquired there");
        }
        StartedCli.Setup cli = new StartedCli.Setup(directory).with("LEASEHOLD_STORE", store);
        try (StartedCli run = cli.start("run", "job", "--", "sh", "-c", script("first"));
                StartedCli second = awaitFile("first", run) ? cli.start("run", "job", "--", "true") : run) {
            String holder = told().split(" ", -1)[0];
            String token = told().split(" ", -1)[1];
            Await.until(
                    () -> "the waiter; " + second.err(),
                    () -> say(store, "show", "job")
                            .out()
                            .lines()
                            .anyMatch(line -> line.matches("waiters   .*/" + second.pid() + "/.*")));

            assertThat(say(store, "who", "--id", "job").out().strip()).isEqualTo(holder);
            assertThat(say(store, "ls").out().lines().skip(1).toList())
                    .singleElement()
                    .asString()
                    .matches("job +\\S+ +sh +- +1 +" + left + " +" + token + " +\\Q" + holder + "\\E");
            Answer show = say(store, "show", "job");
            assertThat(show.exitCode()).isZero();
            assertThat(show.out()).contains("holder    " + holder, "token     " + token);
            assertThat(show.out().lines()).anyMatch(line -> line.matches("left      " + left));
            assertThat(say(store, "show", "job", "--json").out())
                    .contains("\"ends\":\"" + ends + "\"")
                    .containsPattern(
                            "\"waiters\":\\[\\{\"id\":\"[^\"]*/" + second.pid() + "/[^\"]*\",\"waitedMs\":null}]");
            try (StartedCli third = cli.run("run", "--no-wait", "job", "--", "true")) {
                assertThat(third.exitCode()).as(third::err).isEqualTo(ExitCode.BUSY.code());
            }

            StartedCli.shell("touch '" + directory.resolve("end") + "'");
            assertThat(run.exitCode()).as(run::err).isZero();
            assertThat(second.exitCode()).as(second::err).isZero();
        }
        assertThat(say(store, "ls", "--json").out()).isEmpty();
        assertThat(say(store, "show", "job").exitCode()).isEqualTo(ExitCode.FOUND.code());
    }

    @Test
    void permitsAreLocksOfEtcd() {
        try (EtcdServer server = TestServers.etcd()) {
            permitsAreLocks("etcd://127.0.0.1:" + server.port() + "/cli");
        }
    }

    @Test
    void permitsAreLocksOfZooKeeper() throws Exception {
        try (TestingServer server = TestServers.zooKeeper()) {
            permitsAreLocks("zk://" + server.getConnectString() + "/cli");
        }
    }

    /** A run holds the only permit: the operator sees it as a permit and as a lock, and takes it away. */
    private void permitsAreLocks(String store) {
        StartedCli.Setup cli = new StartedCli.Setup(directory).with("LEASEHOLD_STORE", store);
        try (StartedCli run = cli.start("run", "--permit", "1", "pool", "--", "sh", "-c", script("first"))) {
            awaitFile("first", run);
            String holder = told().split(" ", -1)[0];
            Answer permits = say(store, "permits", "pool");
            assertThat(permits.exitCode()).as(permits.err()).isZero();
            assertThat(permits.out())
                    .contains("count     1 (stated by holders)\n", "held      1\n", "waiters   none", holder)
                    .doesNotContain("permit of");
            assertThat(say(store, "permits", "--json", "pool").out())
                    .startsWith(
                            "{\"permits\":\"pool\",\"count\":1,\"version\":0,\"held\":[{\"permits\":\"pool\",\"slot\":0,");
            assertThat(say(store, "who", "--id", "pool#0").out().strip()).isEqualTo(holder);
            assertThat(say(store, "ls").out()).contains("pool#0 ", "PERMITS").doesNotContain("permit of");
            assertThat(say(store, "show", "pool#0").out()).contains("holder    " + holder);
            Answer other = say(store, "run", "-n", "--permit", "2", "pool", "--", "true");
            assertThat(other.exitCode())
                    .as("it meets the holder, or another slot is free: " + other.err())
                    .isIn(ExitCode.USAGE.code(), ExitCode.OK.code());
            Answer busy = say(store, "run", "-n", "--permit", "1", "pool", "--", "true");
            assertThat(busy.exitCode()).isEqualTo(ExitCode.BUSY.code());
            assertThat(busy.err()).contains("permits \"pool\" are busy: held by " + holder);
            Answer count = say(store, "permits", "pool", "--count", "3");
            assertThat(count.exitCode()).isEqualTo(ExitCode.UNSAFE.code());
            assertThat(count.err()).contains("keeps no count", "a count of 3");
            assertThat(say(store, "permits", "pool", "--release", "0", "--holder", holder, "--yes")
                            .exitCode())
                    .isZero();
            assertThat(run.exitCode()).as(run::err).isEqualTo(ExitCode.LEASE_LOST.code());
        }
        assertThat(say(store, "permits", "pool").out()).contains("none yet", "held      0");
        assertThat(say(store, "permits", "pool", "--count", "3", "--yes").exitCode())
                .isEqualTo(ExitCode.UNSAFE.code());
    }

    private static String script(String file) {
        return "echo \"$LEASEHOLD_HOLDER $LEASEHOLD_FENCING_TOKEN\" > told && mv told " + file
                + "; until [ -e end ]; do sleep 0.1; done";
    }

    private String told() {
        return StartedCli.read(directory.resolve("first")).strip();
    }

    private boolean awaitFile(String file, StartedCli run) {
        Await.until(
                () -> file + "; stderr: " + run.err(),
                () -> !StartedCli.read(directory.resolve(file)).isEmpty());
        return true;
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "zk://h?bogus=1 | unknown option",
                "zk://h?tokenBase=x | whole number",
                "zk://h,,i | is no host",
                "zk://ann@h | a user, a colon and a password",
                "etcd://h?bogus=1 | unknown option",
                "etcd://h?electionTimeout=2 | is no duration",
                "etcd://h:99999 | from 1 to 65535",
                "etcd://h?cert=/x | is for TLS",
            })
    void aWrongUriIsOneLineAndExitCode64(String store, String rule) {
        Answer said = say(store, "ls");
        assertThat(said.exitCode()).isEqualTo(64);
        assertThat(said.err().lines().toList()).singleElement().asString().contains(rule);
        assertThat(said.out()).isEmpty();
    }

    @Test
    void aLockThatMovesFromRedisToEtcdGoesOnAboveItsTokens() throws Exception {
        try (EtcdServer server = TestServers.etcd()) {
            String address = "etcd://127.0.0.1:" + server.port();
            movesFromRedis(address + "/moved?tokenBase=" + TOKEN_BASE, address + "/careless");
        }
    }

    @Test
    void aLockThatMovesFromRedisToZooKeeperGoesOnAboveItsTokens() throws Exception {
        try (TestingServer server = TestServers.zooKeeper()) {
            String address = "zk://" + server.getConnectString();
            movesFromRedis(address + "/moved?tokenBase=" + TOKEN_BASE, address + "/careless");
        }
    }

    private static void movesFromRedis(String to, String careless) throws InterruptedException {
        FencingGuard guard = FencingGuard.inMemory();
        long old;
        try (RedisServer redis = redis()) {
            old = token(redis.uri());
        }
        assertThat(guard.admit("order", old)).isInstanceOf(Admission.Admitted.class);

        assertThat(guard.admit("order", token(careless)))
                .as("without a base the resource refuses the new store's tokens")
                .isInstanceOf(Admission.Rejected.class);
        long first = token(to);
        long second = token(to);
        assertThat(List.of(old, first, second)).isSorted().doesNotHaveDuplicates();
        assertThat(guard.admit("order", first)).isInstanceOf(Admission.Admitted.class);
        assertThat(guard.admit("order", second)).isInstanceOf(Admission.Admitted.class);
        assertThat(guard.admit("order", old)).as("who still holds at Redis").isInstanceOf(Admission.Rejected.class);
    }

    private static RedisServer redis() {
        try {
            return RedisServer.start();
        } catch (ServerUnavailableException e) {
            return abort(e.getMessage());
        }
    }

    private static long token(String store) throws InterruptedException {
        try (LockClient client = Leasehold.connect(store);
                Lease lease = client.named("order").acquire()) {
            return lease.fencingToken();
        }
    }
}
