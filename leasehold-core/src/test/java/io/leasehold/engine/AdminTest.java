package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Guarantee;
import io.leasehold.Guarantees;
import io.leasehold.Holder;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LockStoreException;
import io.leasehold.NodeVote;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.admin.ClientRecord;
import io.leasehold.admin.Finding;
import io.leasehold.admin.LockAdmin;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.MemberSet;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.StoreAdmin;
import io.leasehold.spi.StoreOperations;
import io.leasehold.spi.TokenRange;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.LongConsumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The operations of operators reach the store unchanged, and its answers are returned unchanged. Also tests the
 * diagnosis.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class AdminTest {

    private static final LockName A = LockName.exactly("a");
    private static final Duration TTL = Duration.ofSeconds(20);

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    /** The answers in place of those of the silent store, by the name of the method. */
    private final Map<String, Function<Object[], Object>> instead = new HashMap<>();

    private final List<String> asked = new ArrayList<>();

    private LockClient client(Class<?>... types) {
        Class<?>[] all = Arrays.copyOf(types, types.length + 1);
        all[types.length] = StoreAdmin.class;
        LockStore watched =
                (LockStore) Proxy.newProxyInstance(getClass().getClassLoader(), all, (proxy, method, arguments) -> {
                    if (method.getName().equals("admin")) {
                        return proxy;
                    }
                    if (arguments != null && !method.getName().equals("listen")) {
                        asked.add(method.getName() + List.of(arguments));
                    }
                    Function<Object[], Object> other = instead.get(method.getName());
                    if (other != null) {
                        return other.apply(arguments);
                    }
                    try {
                        return method.invoke(store, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        return Leasehold.builder()
                .store(watched)
                .runtime(runtime)
                .defaults(LockOptions.defaults().ttl(TTL))
                .connect();
    }

    private LockAdmin admin() {
        return client(LockStore.class).admin();
    }

    @Test
    void whatIsHeldAndAwaitedIsAskedOfTheStore() {
        Holder holder = new Holder("h", TTL, OptionalLong.of(7));
        QueuedWaiter waiter = new QueuedWaiter("w", null);
        instead.put("waiters", arguments -> CompletableFuture.completedFuture(List.of(waiter)));
        LockAdmin admin = admin();
        assertThat(admin.inspect(A)).isEmpty();
        store.tells(A, holder);
        assertThat(admin.inspect(A)).contains(holder);
        assertThat(admin.list("a*", 1)).containsExactly(new LockAdmin.HeldLock(A, holder));
        assertThat(admin.waiters(A, 1)).containsExactly(waiter);
        assertThat(asked).contains("list[a*, 1]", "waiters[a, 1]");
        assertThatThrownBy(() -> admin.list("*", 0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> admin.waiters(A, 0)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void aReleaseByForceSaysWhetherItWasOne() {
        instead.put("forceRelease", arguments -> CompletableFuture.completedFuture("them".equals(arguments[1])));
        assertThat(admin().forceRelease(A, "them")).isTrue();
        assertThat(admin().forceRelease(A, "others")).isFalse();
    }

    @Test
    void whatAStoreTellsOfItselfIsHandedOn() {
        ClientRecord record = new ClientRecord("h", "host", 1, "", Instant.EPOCH, List.of());
        List<LongConsumer> listeners = new ArrayList<>();
        store.operations(new StoreOperations() {
            @Override
            public CompletableFuture<Optional<ClientRecord>> client(String holderId) {
                return CompletableFuture.completedFuture(
                        Optional.of(record).filter(r -> r.holderId().equals(holderId)));
            }

            @Override
            public Optional<Path> coverChildren() {
                return Optional.of(Path.of("life"));
            }

            @Override
            public void onProgress(LongConsumer seen) {
                listeners.add(seen);
            }
        });
        LockAdmin admin = admin();
        assertThat(admin.client("h")).contains(record);
        assertThat(admin.client("other")).isEmpty();
        assertThat(admin.coverChildren()).contains(Path.of("life"));
        List<Long> heard = new ArrayList<>();
        admin.onProgress(heard::add);
        listeners.get(0).accept(5);
        assertThat(heard).containsExactly(5L);
    }

    @Test
    void onlyASetOfNodesHasNodesToDeclare() {
        assertThatThrownBy(() -> admin().declareNewNodes())
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("no set of nodes");
        NodeVote vote = new NodeVote("n", NodeVote.Answer.GRANTED, "");
        List<Long> limits = new ArrayList<>();
        MemberSet set = timeoutNanos -> {
            limits.add(timeoutNanos);
            return CompletableFuture.completedFuture(List.of(vote));
        };
        instead.put("members", arguments -> Optional.of(set));
        assertThat(admin().declareNewNodes()).containsExactly(vote);
        assertThat(limits).containsExactly(5_000_000_000L);
    }

    // ---- diagnosis

    private List<Finding> findings() {
        return admin().diagnose();
    }

    private Finding finding(String check) {
        return findings().stream()
                .filter(finding -> finding.check().equals(check))
                .findFirst()
                .orElseThrow();
    }

    private void grantsAtOnce() {
        store.answersAtOnce(request -> new AcquireReply.Granted(
                new Grant(request.owner(), TokenRange.of(41, 1), runtime.nanoTime(), Incarnation.DURABLE), List.of()));
    }

    private static AcquireReply failed(LockStoreException error) {
        return new AcquireReply.Failed(FailureKind.PERMANENT, error, 0);
    }

    @Test
    void aHealthyStoreIsGoodInEverything() {
        grantsAtOnce();
        Finding own = Finding.good("memory", "enough");
        store.operations(new StoreOperations() {
            @Override
            public CompletableFuture<List<Finding>> diagnose() {
                return CompletableFuture.completedFuture(List.of(own));
            }
        });
        List<Finding> findings = findings();
        assertThat(findings).contains(own).allMatch(finding -> finding.grade() == Finding.Grade.GOOD);
        assertThat(findings)
                .extracting(Finding::check)
                .containsExactly("memory", "rights", "latency", "settings", "promises");
        assertThat(finding("settings").reason()).contains("ttl 20s", "maxHold 24h", "at most 24h accepted");
        assertThat(finding("promises").reason()).contains("silent:", "fencing INCREASING");
    }

    /** Nothing is left of the test lock that checks the rights. */
    @Test
    void theLockForTryingIsGivenBack() {
        grantsAtOnce();
        findings();
        assertThat(store.releases()).singleElement().satisfies(request -> {
            assertThat(request.owner())
                    .isEqualTo(store.acquires().get(0).request().owner());
            assertThat(request.names())
                    .isEqualTo(store.acquires().get(0).request().names());
            assertThat(request.ballot()).isEqualTo(41);
            assertThat(request.kind()).isEqualTo(ReleaseRequest.Kind.UNDO);
        });
    }

    @Test
    void aRightThatIsMissingIsUnsafeAndAnAbsentStoreIsAWarning() {
        store.answersAtOnce(request -> failed(new StoreAccessException("NOPERM eval", null)));
        assertThat(finding("rights"))
                .returns(Finding.Grade.UNSAFE, Finding::grade)
                .returns("NOPERM eval", Finding::reason);
        store.answersAtOnce(request -> failed(new StoreUnavailableException("away", null)));
        assertThat(finding("rights"))
                .returns(Finding.Grade.WARNING, Finding::grade)
                .returns("away", Finding::reason);
        store.answersAtOnce(request -> new AcquireReply.Refused("it has no memory", 0, 0, List.of()));
        assertThat(finding("rights").grade()).isEqualTo(Finding.Grade.WARNING);
        assertThat(finding("rights").reason()).contains("it has no memory");
        grantsAtOnce();
        store.answersReleases(
                new ReleaseReply.Failed(FailureKind.PERMANENT, new StoreAccessException("NOPERM del", null)));
        assertThat(finding("rights"))
                .returns(Finding.Grade.UNSAFE, Finding::grade)
                .returns("NOPERM del", Finding::reason);
    }

    @Test
    void answersThatTakeHalfOfWhatAnAcquireWaitsForAreAWarning() {
        grantsAtOnce();
        List<Integer> millis = new ArrayList<>();
        instead.put("describe", arguments -> {
            runtime.pass(Duration.ofMillis(millis.isEmpty() ? 3 : millis.remove(0)));
            return CompletableFuture.completedFuture(Optional.empty());
        });
        assertThat(finding("latency").reason())
                .contains("took 3.0 ms in the median and 3.0 ms at the slowest of 21")
                .contains("waits 2000 ms");
        millis.add(999);
        assertThat(finding("latency"))
                .returns(Finding.Grade.GOOD, Finding::grade)
                .extracting(Finding::reason)
                .asString()
                .contains("3.0 ms in the median and 999 ms");
        millis.addAll(List.of(4, 1000));
        assertThat(finding("latency"))
                .returns(Finding.Grade.WARNING, Finding::grade)
                .extracting(Finding::remedy)
                .asString()
                .contains("a ttl of at least 20000 ms");
        millis.addAll(List.of(9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 10));
        assertThat(finding("latency").reason()).contains("9.0 ms in the median and 10 ms");
    }

    @Test
    void tokensThatMayGoBackAreAWarning() {
        grantsAtOnce();
        instead.put(
                "guarantees",
                arguments -> new Guarantees(
                        Guarantee.Exclusion.BY_STORE,
                        Guarantee.Fencing.BEST_EFFORT,
                        Guarantee.Queueing.FIFO,
                        Guarantee.Scope.PROCESS));
        assertThat(finding("promises").grade()).isEqualTo(Finding.Grade.WARNING);
    }
}
