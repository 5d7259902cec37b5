package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.Renewal;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The writes of a hand-over between processes at a real member: each write is a transaction that is synced to its log.
 */
@Tag("full")
class HandOverWritesTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int ROUNDS = 20;

    @TempDir
    private Path directory;

    private static LockClient client(Member member, LockOptions options) {
        return Leasehold.builder().store(member.uri("")).defaults(options).connect();
    }

    /** The transactions from the release until the waiter's lock returns. */
    private long writesOf(Member member, LockClient from, LockClient to, int round) throws Exception {
        LockName lock = LockName.exactly("turn-" + round);
        Lease lease = from.named(lock).acquire();
        CompletableFuture<Lease> waiter = to.named(lock).acquireAsync();
        long start = System.nanoTime();
        // The holder watches its node; the waiter watches the node before its own, and its own.
        while (member.children("/tests/" + lock).size() < 2 || member.watches() < 3) {
            assertThat(System.nanoTime() - start).isLessThan(PATIENCE.toNanos());
            LockSupport.parkNanos(1_000_000);
        }
        LockSupport.parkNanos(Duration.ofMillis(20).toNanos());
        long before = member.transactions();
        lease.release();
        try (Lease next = waiter.get(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
            long writes = member.transactions() - before;
            assertThat(next.isValid()).isTrue();
            assertThat(next.fencingToken()).isGreaterThan(lease.fencingToken());
            return writes;
        }
    }

    @Test
    void theReleaseIsTheOnlyWrite() throws Exception {
        try (Member member = new Member(directory);
                LockClient from = client(member, LockOptions.defaults());
                LockClient to = client(member, LockOptions.defaults())) {
            for (int round = 0; round < ROUNDS; round++) {
                assertThat(writesOf(member, from, to, round)).isEqualTo(1);
            }
        }
    }

    @Test
    void aLeaseThatNothingRenewsIsProvenAtItsTurn() throws Exception {
        LockOptions fixed = LockOptions.defaults().renewal(Renewal.none());
        try (Member member = new Member(directory);
                LockClient from = client(member, fixed);
                LockClient to = client(member, fixed)) {
            for (int round = 0; round < ROUNDS; round++) {
                assertThat(writesOf(member, from, to, round)).isEqualTo(2);
            }
        }
    }
}
