package io.leasehold.redis.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.topology.Topology;
import io.leasehold.redis.topology.Tracking;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Claim;
import io.leasehold.spi.DoubtedHold;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.Grant;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.TokenRange;
import io.leasehold.testkit.virtual.SteppedRuntime;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the notifications of the engine after the answers of the server; only the test advances the time. */
@Tag("quick")
@SuppressWarnings("FutureReturnValueIgnored") // the test sees the results at the readings
final class ToldStoreTest {

    private static final LockName NAME = LockName.exactly("x");
    private static final OwnerToken OWNER = OwnerToken.fromHex("a".repeat(40));
    private static final Duration SECOND = Duration.ofSeconds(1);

    private final SteppedRuntime runtime = new SteppedRuntime(new SystemLockRuntime());
    private final List<CompletableFuture<List<@Nullable String>>> readings = new ArrayList<>();
    private final List<DoubtedHold> doubted = new ArrayList<>();
    private Tracking.@Nullable Listener server;
    private boolean isBroken;

    /** The signals of the store. */
    private @Nullable StoreSignals told;

    private final ToldStore store = new ToldStore(granting(), topology(), KeyLayout.standard(), runtime);

    private LockStore granting() {
        Grant grant = new Grant(OWNER, TokenRange.of(5, 1), 1, new Incarnation("life"));
        return (LockStore) Proxy.newProxyInstance(
                LockStore.class.getClassLoader(), new Class<?>[] {LockStore.class}, (proxy, method, arguments) -> {
                    told = method.getName().equals("listen") ? (StoreSignals) arguments[0] : told;
                    return method.getName().equals("acquire")
                                    || method.getName().equals("resume")
                            ? CompletableFuture.completedFuture(new AcquireReply.Granted(grant, List.of()))
                            : null;
                });
    }

    private Topology topology() {
        return (Topology) Proxy.newProxyInstance(
                Topology.class.getClassLoader(), new Class<?>[] {Topology.class}, (proxy, method, arguments) -> {
                    server = (Tracking.Listener) arguments[0];
                    return new Readings();
                });
    }

    private final class Readings implements Tracking {
        @Override
        public void start() {
            server.began();
        }

        @Override
        public CompletableFuture<List<@Nullable String>> values(List<String> keys) {
            CompletableFuture<List<@Nullable String>> reading = new CompletableFuture<>();
            readings.add(reading);
            if (isBroken) {
                throw new IllegalStateException("made by the test");
            }
            return reading;
        }

        @Override
        public void close() {}
    }

    private void acquires() {
        listens();
        store.acquire(AcquireRequest.exclusive(List.of(NAME), OWNER, "host/1/x", 30 * SECOND.toNanos(), 1));
    }

    /** Whether a lease begins from a message. */
    private BooleanSupplier beginning = () -> true;

    private boolean claimed() {
        HandOver message = new HandOver(NAME, OWNER.attemptId(), TokenRange.of(5, 1), 1);
        Grant grant = new Grant(OWNER, TokenRange.of(5, 1), 1, new Incarnation("life"));
        return told.claimed(new Claim(message, grant, 4 * SECOND.toNanos()));
    }

    private void releases() {
        store.release(new ReleaseRequest(List.of(NAME), OWNER, 5, ReleaseRequest.Kind.RELEASE, SECOND.toNanos()));
    }

    @Test
    void aLeaseThatBeginsFromAMessageIsObservedForItsClaim() {
        listens();
        assertThat(claimed()).isTrue();
        isGone(1);
        assertThat(doubted).hasSize(1);
        runtime.advance(SECOND.multipliedBy(60));
        isGone(2);
        runtime.advance(SECOND.multipliedBy(60));
        assertThat(readings).as("the claim is over").hasSize(2);
    }

    @Test
    void aMessageFromWhichNoLeaseBeginsDoesNotEndTheObservationOfAnAnswer() {
        listens();
        beginning = () -> {
            store.acquire(AcquireRequest.exclusive(List.of(NAME), OWNER, "host/1/x", 30 * SECOND.toNanos(), 1));
            return false;
        };
        assertThat(claimed()).isFalse();
        isGone(1);
        assertThat(doubted).hasSize(1);
    }

    @Test
    void aMessageFromWhichNoLeaseBeginsIsNotObserved() {
        listens();
        beginning = () -> false;
        assertThat(claimed()).isFalse();
        assertThat(readings).isEmpty();
    }

    @Test
    void aLeaseThatEndsWhileItBeginsIsNotObserved() {
        listens();
        beginning = () -> {
            releases();
            return true;
        };
        assertThat(claimed()).isTrue();
        isGone(1);
        assertThat(doubted).isEmpty();
    }

    @Test
    void aResumedLeaseIsObservedUntilItIsExported() {
        listens();
        AcquireRequest request = AcquireRequest.exclusive(List.of(NAME), OWNER, "host/1/x", 30 * SECOND.toNanos(), 1);
        store.resume(request, OwnerToken.fromHex("b".repeat(40)));
        assertThat(readings).hasSize(1);
        OwnerToken ticket = OwnerToken.fromHex("c".repeat(40));
        store.export(new ExportRequest(NAME, OWNER, 5, ticket, 5, "ticket", SECOND.toNanos(), 1));
        isGone(1);
        assertThat(doubted).isEmpty();
    }

    /** Its key changes then, and the key of readers says nothing of one of them. */
    @Test
    void aHoldIsObservedUntilItBecomesThatOfAReader() {
        acquires();
        OwnerToken reader = OwnerToken.fromHex("b".repeat(40));
        store.downgrade(
                AcquireRequest.exclusive(List.of(NAME.asRead()), reader, "host/1/x", 30 * SECOND.toNanos(), 1), OWNER);
        isGone(1);
        assertThat(doubted).isEmpty();
    }

    private void listens() {
        store.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {}

            @Override
            public boolean claimed(Claim claim) {
                return beginning.getAsBoolean();
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {}

            @Override
            public void reconnected() {}

            @Override
            public void doubted(List<DoubtedHold> holds) {
                doubted.addAll(holds);
            }
        });
    }

    private void isGone(int reading) {
        readings.get(reading - 1).complete(Arrays.asList((String) null));
    }

    @AfterEach
    void close() {
        runtime.close();
    }

    /** The reading may be answered before the engine has registered the hold, so that the first doubt has no effect. */
    @Test
    void aLossThatIsReadBeforeTheEngineHasTheHoldIsToldAgain() {
        acquires();
        isGone(1);
        assertThat(doubted).hasSize(1);
        runtime.advance(SECOND.minusNanos(1));
        assertThat(readings).hasSize(1);
        runtime.advance(Duration.ofNanos(1));
        isGone(2);
        assertThat(doubted).hasSize(2);
        runtime.advance(SECOND.multipliedBy(60));
        assertThat(readings).as("one is under way").hasSize(3);
        isGone(3);
        runtime.advance(SECOND.multipliedBy(60));
        assertThat(readings).as("its time is over").hasSize(3);
    }

    @Test
    void aDriverThatThrowsIsAskedAgainAfterASecond() {
        isBroken = true;
        acquires();
        assertThat(readings).hasSize(1);
        isBroken = false;
        runtime.advance(SECOND);
        assertThat(readings).hasSize(2);
        isGone(2);
        assertThat(doubted).extracting(DoubtedHold::name).containsExactly(NAME);
    }
}
