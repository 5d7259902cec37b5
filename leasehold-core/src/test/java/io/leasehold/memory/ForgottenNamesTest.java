package io.leasehold.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.quorum.HandClock;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.ReleaseRequest.Kind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A node of one process forgets the names that nobody uses, and no token is granted twice nevertheless. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class ForgottenNamesTest {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final LockName NAME = LockName.exactly("n");

    private final HandClock clock = new HandClock();
    private final long bornMicros = clock.wallMillis() * 1_000;
    private final long bornAtNanos = clock.nanoTime();
    private final InMemoryNode node = InMemoryNode.ofOneProcess(clock);

    private AcquireRequest request(LockName name) {
        return AcquireRequest.exclusive(List.of(name), OwnerToken.draw(clock), "h", 10 * SECOND, SECOND);
    }

    /** The node's clock. */
    private long micros() {
        return bornMicros + (clock.nanoTime() - bornAtNanos) / 1_000;
    }

    private static ReleaseRequest end(AcquireRequest request, long ballot, Kind kind) {
        return new ReleaseRequest(request.names(), request.owner(), ballot, kind, SECOND);
    }

    private static int keptAfterUse(InMemoryNode node, HandClock clock) {
        SingleNodeStore store = new SingleNodeStore(node, clock);
        for (int i = 0; i < 100; i++) {
            AcquireRequest request = AcquireRequest.exclusive(
                    List.of(LockName.exactly("once-" + i)), OwnerToken.draw(clock), "h", 10 * SECOND, SECOND);
            AcquireReply.Granted granted =
                    (AcquireReply.Granted) store.acquire(request).join();
            clock.pass(Duration.ofNanos(1_000));
            store.release(end(request, granted.grant().tokens().last(), Kind.RELEASE));
        }
        return node.names();
    }

    @Test
    void namesThatAreUsedOnceLeaveNothing() {
        assertThat(keptAfterUse(new InMemoryNode(clock), clock))
                .as("a node whose state others may continue")
                .isEqualTo(100);
        assertThat(keptAfterUse(node, clock)).isZero();
    }

    @Test
    void aNameIsKeptWhileItIsHeldOrWaitedFor() {
        AcquireRequest held = request(NAME);
        AcquireRequest waiting = request(NAME).waiting(SECOND);
        node.acquire(new Ballot(held, micros(), 1));
        node.acquire(new Ballot(waiting, micros() + 1, 1));
        clock.pass(Duration.ofNanos(SECOND));
        assertThat(node.names()).isEqualTo(1);
        node.release(end(held, micros(), Kind.RELEASE));
        assertThat(node.waiters(NAME, 10).join())
                .as("the waiter was woken, and has its place")
                .hasSize(1);
        node.release(end(waiting, micros(), Kind.UNDO));
        assertThat(node.names()).isZero();
    }

    /** The tokens of a name increase, however slow the clock is and whatever was undone in between. */
    @Test
    void tokensIncreaseAcrossTheForgetting() {
        for (int seed = 0; seed < 200; seed++) {
            Random random = new Random(seed);
            SingleNodeStore store = new SingleNodeStore(node, clock);
            Map<LockName, Long> last = new HashMap<>();
            List<ReleaseRequest> held = new ArrayList<>();
            for (int step = 0; step < 200; step++) {
                clock.pass(Duration.ofNanos(random.nextInt(3) * 500L));
                LockName name = LockName.exactly("name-" + random.nextInt(3));
                int what = random.nextInt(10);
                if (what < 5) {
                    AcquireRequest request = request(name).reserve(1 + random.nextInt(2));
                    if (store.acquire(request).join() instanceof AcquireReply.Granted granted) {
                        long token = granted.grant().tokens().first();
                        assertThat(token).as("seed %d", seed).isGreaterThan(last.getOrDefault(name, 0L));
                        last.put(name, granted.grant().tokens().last());
                        held.add(end(request, granted.grant().tokens().last(), Kind.RELEASE));
                    }
                } else if (what < 9 && !held.isEmpty()) {
                    store.release(held.remove(random.nextInt(held.size())));
                } else {
                    store.release(end(request(name), micros() + random.nextInt(3), Kind.UNDO));
                }
            }
            held.forEach(store::release);
        }
    }

    /** An undo that arrives before its request refuses it, although nothing is kept of the name. */
    @Test
    void aRequestThatArrivesAfterItsUndoIsRefused() {
        AcquireRequest late = request(NAME);
        long candidate = micros();
        clock.pass(Duration.ofNanos(1_000));
        node.release(end(late, candidate, Kind.UNDO));
        assertThat(node.names()).isZero();
        assertThat(node.acquire(new Ballot(late, candidate, 1)).join()).isInstanceOf(NodeReply.Stale.class);
        assertThat(node.acquire(new Ballot(request(NAME), candidate + 1, 1)).join())
                .isInstanceOf(NodeReply.Yes.class);
    }

    /** Otherwise, one fence ahead of the clock would be the floor for all names. */
    @Test
    void aFenceAheadOfTheClockIsKeptUntilTheClockHasPassedIt() {
        AcquireRequest undone = request(NAME);
        node.release(end(undone, micros() + 1_000_000, Kind.UNDO));
        assertThat(node.names()).isEqualTo(1);
        assertThat(node.acquire(new Ballot(request(LockName.exactly("other")), micros(), 1))
                        .join())
                .isInstanceOf(NodeReply.Yes.class);
        assertThat(node.acquire(new Ballot(undone, micros() + 1_000_000, 1)).join())
                .isInstanceOf(NodeReply.Stale.class);
        clock.pass(Duration.ofNanos(11 * SECOND));
        for (int i = 0; i < 5_000; i++) {
            AcquireRequest request = request(LockName.exactly("sweep"));
            clock.pass(Duration.ofNanos(1_000));
            node.acquire(new Ballot(request, micros(), 1));
            node.release(end(request, 1, Kind.RELEASE));
        }
        assertThat(node.names()).isLessThanOrEqualTo(1);
        assertThat(node.acquire(new Ballot(undone, micros() - 9_000_000, 1)).join())
                .isInstanceOf(NodeReply.Stale.class);
    }
}
