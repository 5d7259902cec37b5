package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.admin.LockAdmin;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.servers.PortReservation;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.StoreUri;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The behavior of a store when a list exceeds one answer, and the state that it keeps of failed attempts. */
@Tag("full")
class ManyLocksTest {

    private static final int LOCKS = 12_000;
    private static final int MAX_BYTES = 1024 * 1024;

    @Test
    void aListThatIsLongerThanAnAnswerMayBeIsReadAndEndangersNoLease(@TempDir Path directory) throws Exception {
        try (Member member = new Member(directory);
                LockClient locks = Leasehold.connect(member.uri(""))) {
            String address = member.uri("").replaceAll("zk://([^/]*)/.*", "$1");
            int bytes = makeIdle(address);
            assertThat(bytes).as("bytes of one answer").isGreaterThan(MAX_BYTES);
            try (Lease first = locks.named("held-a").acquire();
                    Lease second = locks.named("held-b").acquire()) {
                AtomicInteger risks = new AtomicInteger();
                first.onAtRisk(left -> risks.incrementAndGet());
                assertThat(locks.admin().list("*", 10).stream().map(LockAdmin.HeldLock::name))
                        .containsExactly(LockName.of("held-a"), LockName.of("held-b"));
                assertThat(locks.admin().list("held-?", 1)).hasSize(1);
                first.renew();
                assertThat(risks).as("told at risk").hasValue(0);
                assertThat(second.isValid()).isTrue();
            }
        }
    }

    /** Makes locks without a holder, with long names; returns how many bytes a list of them takes. */
    private static int makeIdle(String address) throws Exception {
        String padding = "x".repeat(90);
        CountDownLatch made = new CountDownLatch(LOCKS);
        int bytes = 0;
        ZooKeeper operator = new ZooKeeper(address, 60_000, event -> {});
        try {
            for (int i = 0; i < LOCKS; i++) {
                String name = "idle-" + padding + i;
                bytes += 4 + name.length();
                operator.create(
                        "/tests/" + name,
                        new byte[0],
                        ZooDefs.Ids.OPEN_ACL_UNSAFE,
                        CreateMode.PERSISTENT,
                        (rc, path, context, created) -> made.countDown(),
                        null);
            }
            assertThat(made.await(2, TimeUnit.MINUTES)).isTrue();
        } finally {
            operator.close();
        }
        return bytes;
    }

    @Test
    void anAttemptThatReachedNobodyIsForgotten() throws Exception {
        int nobody = PortReservation.forThisJvm();
        LockRuntime runtime = new SystemLockRuntime();
        ZooKeeperStore store = new ZooKeeperStore(
                ZooKeeperUri.parse(StoreUri.parse(Ensemble.uri("127.0.0.1:" + nobody, ""))), runtime);
        try {
            List<CompletableFuture<AcquireReply>> replies = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                replies.add(store.acquire(AcquireRequest.exclusive(
                        List.of(LockName.of("nobody")),
                        OwnerToken.draw(runtime),
                        "tester",
                        Duration.ofSeconds(2).toNanos(),
                        Duration.ofMillis(50).toNanos())));
            }
            for (CompletableFuture<AcquireReply> reply : replies) {
                assertThat(reply.get(60, TimeUnit.SECONDS)).isInstanceOf(AcquireReply.Failed.class);
            }
            long start = System.nanoTime();
            while (store.attempts() > 0) {
                assertThat(System.nanoTime() - start)
                        .as("%d attempts are remembered", store.attempts())
                        .isLessThan(Duration.ofSeconds(30).toNanos());
                LockSupport.parkNanos(10_000_000);
            }
        } finally {
            store.close();
            runtime.close();
        }
    }
}
