package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.WriteLease;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The steps of a downgrade between which an error, a close or a cancel comes. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
@Timeout(60)
final class DowngradeStepsTest {

    private static final LockName NAME = Workshop.NAME;
    private static final OwnerToken WRITER = OwnerToken.fromHex("a".repeat(40));

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final List<String> news = new ArrayList<>();
    private LeaseDowngrade downgrade;

    private final Workshop workshop = new Workshop(runtime, store, LockOptions.defaults(), List.of(new LockListener() {
        @Override
        public void attemptBegan(AttemptBegan event) {
            news.add(Thread.holdsLock(downgrade) ? "guarded" : "began");
        }
    }));

    private void send(LeaseDowngrade.Beginning beginning) {
        GrantMachine.Keeping keeping = new GrantMachine.Keeping(runtime.nanoTime(), 0);
        downgrade = new LeaseDowngrade(NAME, keeping, workshop.settings, workshop.context, beginning);
        downgrade.send(
                WRITER, null, 5, runtime.nanoTime() + Duration.ofSeconds(20).toNanos());
    }

    private AcquireReply granted(AcquireRequest request) {
        return new AcquireReply.Granted(
                new Grant(request.owner(), TokenRange.of(1_000, 1), runtime.nanoTime(), Incarnation.DURABLE),
                List.of());
    }

    private void grant(int index) {
        SilentStore.Asked<AcquireRequest, AcquireReply> asked =
                store.downgrades().get(index);
        asked.answer().complete(granted(asked.request()));
    }

    private LeaseHandle begun(Grant grant, long ballot, long mark) {
        HeldGrant begun =
                new HeldGrant(NAME.asRead(), grant, 0, ballot, workshop.settings, workshop.context, workshop.queues);
        return new SharedReads(workshop.context, workshop.queues).only(begun.begin(mark, null), null);
    }

    @Test
    void anErrorAtTheBeginningOfTheReadLeaseIsNotFollowedByAnotherRequestForItsOwnerToken() {
        send((grant, ballot, mark) -> {
            begun(grant, ballot, mark).give();
            throw new InternalError("made by the test");
        });
        grant(0);
        runtime.pass(Duration.ofSeconds(5));
        assertThat(store.downgrades()).hasSize(1);
        assertThatThrownBy(() -> downgrade.result().join()).hasCauseInstanceOf(AmbiguousAcquireException.class);
        OwnerToken reader = store.downgrades().get(0).request().owner();
        assertThat(store.releases()).extracting(ReleaseRequest::owner).contains(WRITER, reader);
        assertThat(workshop.context.retrier().isIdle()).isTrue();
    }

    @Test
    void aReadLeaseThatNoFutureTakesIsReleased() {
        send(this::begun);
        downgrade.fail(new IllegalStateException("made by the test"));
        grant(0);
        OwnerToken reader = store.downgrades().get(0).request().owner();
        assertThat(store.releases()).extracting(ReleaseRequest::owner).containsExactly(reader);
    }

    @Test
    void listenersAreCalledWithoutTheGuard() {
        send(this::begun);
        assertThat(news).containsExactly("began");
    }

    @Test
    void aClientThatClosesFindsTheReadLeaseOfADowngradeThatIsJustBeingAnswered() {
        LockClient client = Leasehold.builder().store(store).runtime(runtime).connect();
        CompletableFuture<Lease> one = downgraded(client, "one");
        CompletableFuture<Lease> other = downgraded(client, "other");
        CompletableFuture<WriteLease> held = client.readWrite("third").write().acquireAsync();
        store.acquires()
                .get(2)
                .answer()
                .complete(granted(store.acquires().get(2).request()));
        // The news of the close answers the first downgrade, and the close of its read lease answers the second.
        one.thenAccept(lease -> lease.onLost(cause -> grant(1)));
        held.join().onLost(cause -> grant(0));
        runtime.passesInWaits();
        client.close(Duration.ofSeconds(10));
        assertThat(other).isCompleted();
        assertThat(store.releases())
                .extracting(ReleaseRequest::owner)
                .contains(store.downgrades().get(1).request().owner());
    }

    private CompletableFuture<Lease> downgraded(LockClient client, String name) {
        int index = store.acquires().size();
        CompletableFuture<WriteLease> wanted = client.readWrite(name).write().acquireAsync();
        store.acquires()
                .get(index)
                .answer()
                .complete(granted(store.acquires().get(index).request()));
        return wanted.join().downgradeAsync();
    }
}
