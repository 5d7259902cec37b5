package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Hold;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.Renewal;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The lock delay runs from the loss, whatever the former holder does afterwards. */
@Tag("quick")
final class LockDelayTest {

    private static final LockName ONE = LockName.exactly("one");
    private static final LockName OTHER = LockName.exactly("other");
    private static final LockOptions DELAYED =
            LockOptions.defaults().ttl(Duration.ofSeconds(10)).lockDelay(Duration.ofSeconds(60));

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();

    private LockClient client(UnaryOperator<LockOptions> change) {
        return Leasehold.builder()
                .store(store)
                .runtime(runtime)
                .defaults(change.apply(DELAYED))
                .connect();
    }

    private <H extends Hold> H granted(CompletableFuture<H> future) {
        var asked = store.acquires().get(store.acquires().size() - 1);
        Grant grant = new Grant(asked.request().owner(), TokenRange.of(1, 1), runtime.nanoTime(), Incarnation.DURABLE);
        asked.answer().complete(new AcquireReply.Granted(grant, List.of()));
        return future.join();
    }

    private Hold lease(LockClient client) {
        return granted(client.named(ONE).acquireAsync());
    }

    @Test
    void standsAlthoughTheLostLeaseIsClosed() {
        Hold lease = lease(client(o -> o));
        runtime.pass(Duration.ofSeconds(11));
        assertThat(lease.isValid()).isFalse();
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        lease.close();
        assertThat(store.releases()).isEmpty();
    }

    @Test
    void standsForSeveralLocks() {
        Hold lease = granted(client(o -> o).all(ONE, OTHER).acquireAsync());
        runtime.pass(Duration.ofSeconds(11));
        lease.close();
        assertThat(store.releases()).isEmpty();
    }

    @Test
    void standsAtMaxHold() {
        Hold lease = lease(client(o -> o.renewal(Renewal.none()).maxHold(Duration.ofSeconds(10))));
        runtime.pass(Duration.ofSeconds(11));
        lease.close();
        assertThat(store.releases()).isEmpty();
    }

    @Test
    void standsWhereTheSessionHasEnded() {
        Hold lease = lease(client(o -> o));
        store.ear().lost(store.acquires().get(0).request().owner(), LossCause.SESSION_LOST);
        lease.close();
        assertThat(store.releases()).isEmpty();
    }

    @Test
    void standsWhereTheClientClosesAndTheHolderIsNotDone() {
        LockClient client = client(o -> o);
        lease(client);
        client.close(Duration.ZERO);
        assertThat(store.releases()).isEmpty();
    }

    @Test
    void doesNotRunWhereTheLeaseIsGivenBackInTime() {
        lease(client(o -> o)).close();
        assertThat(store.releases())
                .singleElement()
                .extracting(ReleaseRequest::kind)
                .isEqualTo(ReleaseRequest.Kind.RELEASE);
    }

    @Test
    void doesNotRunWhereAnOperatorHasTakenIt() {
        Hold lease = lease(client(o -> o));
        store.ear().lost(store.acquires().get(0).request().owner(), LossCause.FORCE_RELEASED);
        lease.close();
        assertThat(store.releases()).hasSize(1);
    }

    @Test
    void withoutADelayWhatMayBeLeftIsFreed() {
        Hold lease = lease(client(o -> o.lockDelay(Duration.ZERO)));
        runtime.pass(Duration.ofSeconds(11));
        lease.close();
        assertThat(store.releases())
                .singleElement()
                .extracting(ReleaseRequest::kind)
                .isEqualTo(ReleaseRequest.Kind.UNDO);
    }
}
