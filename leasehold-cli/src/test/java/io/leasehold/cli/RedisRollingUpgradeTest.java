package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisReplicated;
import io.leasehold.servers.RedisSentinelGroup;
import io.leasehold.servers.RedisServer;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * {@link RollingUpgrade} over each topology of Redis, and over a Redlock set. If a server keeps a queue, clients of
 * wire formats 1 and 2 exclude each other, and cannot wait at the same time: a client of format 2 that finds the queue
 * of format 1 is refused with both numbers.
 */
@Tag("full")
class RedisRollingUpgradeTest extends RollingUpgrade {

    private static boolean namesBothVersions(String text) {
        return text.contains("wire format 1") && text.contains("wire format 2");
    }

    @Override
    boolean isSeenWaiting(String store, String lock, StartedCli waiter) {
        return super.isSeenWaiting(store, lock, waiter) || namesBothVersions(seenByToday(store, "show", lock));
    }

    @Override
    boolean isTurnedAway(String store, StartedCli ended) {
        return !store.startsWith("redlock:")
                && ended.exitCode() == ExitCode.STORE_UNAVAILABLE.code()
                && namesBothVersions(ended.err());
    }

    private void shareLocksWithoutAQueue(String store) {
        shareLocks(store);
        whileThoseOfFormat1WaitOthersAreTurnedAway(store);
        aWaiterIsTurnedAwayOnceOneOfFormat1Waits(store);
    }

    private StartedCli holder(StartedCli.Setup version, String lock) {
        Path token = directory.resolve(lock + ".token");
        StartedCli holder =
                version.start("run", lock, "--", "sh", "-c", holdUntil(token, directory.resolve(lock + ".end")));
        Await.until(
                () -> "the holder; " + holder.err(),
                () -> !StartedCli.read(token).isEmpty());
        return holder;
    }

    private void isLetGo(StartedCli holder, String lock) {
        StartedCli.shell("touch '" + directory.resolve(lock + ".end") + "'");
        assertThat(holder.exitCode()).as(holder::err).isZero();
    }

    private void whileThoseOfFormat1WaitOthersAreTurnedAway(String store) {
        String lock = "old-waits";
        try (StartedCli holder = holder(today(store), lock);
                StartedCli waiter = previous(store).start("run", "--wait=2m", lock, "--", "true")) {
            Await.until(() -> "the waiter; " + waiter.err(), () -> namesBothVersions(seenByToday(store, "show", lock)));
            for (String patience : List.of("--wait=2m", "--no-wait")) {
                StartedCli refused = today(store).run("run", patience, lock, "--", "true");
                assertThat(isTurnedAway(store, refused)).as(refused::err).isTrue();
            }
            StartedCli busy = previous(store).run("run", "--no-wait", lock, "--", "true");
            assertThat(busy.exitCode()).as(busy::err).isEqualTo(ExitCode.BUSY.code());
            isLetGo(holder, lock);
            assertThat(waiter.exitCode()).as(waiter::err).isZero();
            // Its queue was removed with it.
            StartedCli next = today(store).run("run", "--no-wait", lock, "--", "true");
            assertThat(next.exitCode()).as(next::err).isZero();
        }
    }

    private void aWaiterIsTurnedAwayOnceOneOfFormat1Waits(String store) {
        String lock = "new-waits";
        try (StartedCli holder = holder(previous(store), lock);
                StartedCli first = today(store).start("run", "--wait=2m", lock, "--", "true")) {
            Await.until(
                    () -> "the first; " + first.err(),
                    () -> seenByToday(store, "show", lock).contains("/" + first.pid() + "/"));
            try (StartedCli second = previous(store).start("run", "--wait=2m", lock, "--", "true")) {
                assertThat(isTurnedAway(store, first)).as(first::err).isTrue();
                assertThat(holder.isAlive()).isTrue();
                isLetGo(holder, lock);
                assertThat(second.exitCode()).as(second::err).isZero();
            }
        }
    }

    @Test
    void redis() {
        try (RedisServer server = RedisServer.start()) {
            shareLocksWithoutAQueue(server.uri());
            newKindsOfHoldsExcludeThePrevious(server.uri());
        }
    }

    @Test
    void redisReplicated() {
        try (RedisReplicated servers = RedisReplicated.start(1)) {
            shareLocksWithoutAQueue(servers.uri());
        }
    }

    @Test
    void redisSentinel() {
        try (RedisSentinelGroup group = RedisSentinelGroup.start(1)) {
            shareLocksWithoutAQueue(group.uri());
        }
    }

    @Test
    void redisCluster() {
        try (RedisCluster cluster = RedisCluster.start()) {
            shareLocksWithoutAQueue(cluster.uri());
        }
    }

    /** Its nodes keep no queue, so both formats are the same. */
    @Test
    void redlock() {
        List<RedisServer> servers = new ArrayList<>();
        try {
            for (int i = 0; i < 3; i++) {
                servers.add(RedisServer.start());
            }
            String nodes = servers.stream()
                    .map(server -> "node=" + URLEncoder.encode(server.uri(), StandardCharsets.UTF_8))
                    .collect(Collectors.joining("&"));
            StartedCli.Setup today = today("redlock:?" + nodes);
            StartedCli init = today.run("redlock", "init", "--yes");
            assertThat(init.exitCode()).as(init::err).isZero();
            shareLocks("redlock:?" + nodes);
        } finally {
            servers.forEach(RedisServer::close);
        }
    }
}
