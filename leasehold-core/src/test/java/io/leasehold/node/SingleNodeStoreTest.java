package io.leasehold.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Which candidates it proposes. */
@Tag("quick")
final class SingleNodeStoreTest {

    private static final LockName NAME = LockName.exactly("order:1");
    private static final long SECOND = 1_000_000;

    private final LockRuntime runtime = new SystemLockRuntime();
    private final SingleNodeStore store = new SingleNodeStore(new InMemoryNode(runtime), runtime);

    @AfterEach
    void close() {
        store.close();
        runtime.close();
    }

    private AcquireRequest request(OwnerToken owner) {
        return AcquireRequest.exclusive(
                List.of(NAME),
                owner,
                "host/1/x",
                Duration.ofSeconds(30).toNanos(),
                Duration.ofSeconds(20).toNanos());
    }

    private AcquireReply ask(AcquireRequest request) {
        return store.acquire(request).join();
    }

    /** Holds the lock; the token is close to the node's clock. */
    private long held(OwnerToken holder) {
        return ask(request(holder)).ballot();
    }

    private void end(OwnerToken owner, long ballot) {
        store.release(new ReleaseRequest(List.of(NAME), owner, ballot, ReleaseRequest.Kind.UNDO, SECOND))
                .join();
    }

    @Test
    void theBallotsOfAnAttemptRiseAlsoAboveTheEstimate() {
        long ahead = held(OwnerToken.draw(runtime)) + 2 * SECOND;
        OwnerToken waiter = OwnerToken.draw(runtime);

        AcquireReply first = ask(request(waiter).waiting(SECOND).ballotSoFar(ahead));
        AcquireReply second = ask(request(waiter).waiting(SECOND).ballotSoFar(first.ballot()));

        assertThat(first).isInstanceOf(AcquireReply.Queued.class);
        assertThat(first.ballot()).isEqualTo(ahead + 1);
        assertThat(second.ballot()).isEqualTo(ahead + 2);
    }

    /** A clock was set back: the fence is far ahead of it, and the node says so; that is no reason to lose a place. */
    @Test
    void aWaiterKeepsItsPlaceAboveAFloorThatIsFarAhead() {
        long clock = held(OwnerToken.draw(runtime));
        end(OwnerToken.draw(runtime), clock + 7 * SECOND);
        OwnerToken waiter = OwnerToken.draw(runtime);

        AcquireReply first = ask(request(waiter).waiting(SECOND));
        AcquireReply second = ask(request(waiter).waiting(SECOND).ballotSoFar(first.ballot()));
        AcquireReply third = ask(request(waiter).waiting(SECOND).ballotSoFar(second.ballot()));

        assertThat(first).isInstanceOf(AcquireReply.Queued.class);
        assertThat(first.ballot()).isGreaterThan(clock + 7 * SECOND);
        assertThat(second).isInstanceOf(AcquireReply.Queued.class);
        assertThat(third).isInstanceOf(AcquireReply.Queued.class);
        assertThat(third.ballot()).isGreaterThan(second.ballot()).isLessThan(clock + 8 * SECOND);
        end(waiter, third.ballot());
        assertThat(ask(request(waiter).waiting(SECOND).ballotSoFar(third.ballot())))
                .as("after its end it is known no more")
                .isInstanceOfSatisfying(
                        AcquireReply.Refused.class,
                        refused -> assertThat(refused.spent()).isTrue());
    }

    @Test
    void anAttemptWhoseUndoCouldBeCutOffIsSpent() {
        long clock = held(OwnerToken.draw(runtime));

        AcquireReply reply = ask(request(OwnerToken.draw(runtime)).ballotSoFar(clock + 60 * SECOND));

        assertThat(reply).isInstanceOfSatisfying(AcquireReply.Refused.class, refused -> {
            assertThat(refused.spent()).isTrue();
            assertThat(refused.ballot()).isZero();
            assertThat(refused.reason()).contains("clock").contains("memory:");
        });
    }

    @Test
    void aTokenSeenLongBeforeTheClockWentBackIsNoReasonToBeRefused() {
        OwnerToken holder = OwnerToken.draw(runtime);
        long clock = held(holder);
        end(holder, clock);

        AcquireReply reply = ask(request(OwnerToken.draw(runtime)).seenToken(clock + 60 * SECOND));

        assertThat(reply).isInstanceOf(AcquireReply.Granted.class);
        assertThat(reply.ballot()).isBetween(clock, clock + 60 * SECOND);
    }

    @Test
    void aFloorThatTheNodeToldIsBeatenHoweverFarAheadItIs() {
        OwnerToken holder = OwnerToken.draw(runtime);
        long clock = held(holder);
        end(holder, clock + 7 * SECOND);

        AcquireReply reply = ask(request(OwnerToken.draw(runtime)));

        assertThat(reply).isInstanceOf(AcquireReply.Granted.class);
        assertThat(reply.ballot()).isGreaterThan(clock + 7 * SECOND);
    }
}
