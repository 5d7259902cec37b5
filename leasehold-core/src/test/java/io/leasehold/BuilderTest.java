package io.leasehold;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.admin.Finding;
import io.leasehold.admin.LockAdmin;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.spi.LockStore;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests of the builder of clients: what it refuses, and that it leaves nothing open if a client could not be created.
 */
@Tag("quick")
@Timeout(60)
final class BuilderTest {

    private final AtomicInteger closed = new AtomicInteger();
    private Duration most = Duration.ofHours(24);

    /** The in-memory store, with another largest ttl and a count of its closes. */
    private LockStore store(RuntimeException atClose) {
        SystemLockRuntime runtime = new SystemLockRuntime();
        LockStore store = new SingleNodeStore(new InMemoryNode(runtime), runtime);
        return (LockStore) Proxy.newProxyInstance(
                BuilderTest.class.getClassLoader(), new Class<?>[] {LockStore.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("maxTtl")) {
                        return most;
                    }
                    if (method.getName().equals("close")) {
                        closed.incrementAndGet();
                        runtime.close();
                        if (atClose != null) {
                            throw atClose;
                        }
                    }
                    try {
                        return method.invoke(store, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    private LockStore store() {
        return store(null);
    }

    /** A builder may be reused with further settings: existing clients keep theirs. */
    @Test
    void whatIsAddedLaterIsNotForAClientThatIsThere() throws InterruptedException {
        List<String> told = new CopyOnWriteArrayList<>();
        LockListener early = new LockListener() {
            @Override
            public void attemptBegan(AttemptBegan event) {
                told.add("early");
            }
        };
        LockListener late = new LockListener() {
            @Override
            public void attemptBegan(AttemptBegan event) {
                told.add("late");
            }
        };
        CountDownLatch mayOpen = new CountDownLatch(1);
        Leasehold.Builder builder = Leasehold.builder()
                .store(runtime -> {
                    try {
                        mayOpen.await();
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                    return store();
                })
                .listener(early);
        try (LockClient client = builder.connectLazily()) {
            builder.listener(late).require(Guarantee.Exclusion.BY_STORE);
            mayOpen.countDown();
            try (Lease lease = client.named("n").acquire()) {
                assertThat(lease.isValid()).isTrue();
            }
        }
        assertThat(told).containsOnly("early");
    }

    @Test
    void aLabelIsOfPlainCharacters() {
        Leasehold.Builder builder = Leasehold.builder().store(store());
        for (String bad : List.of("a b", "a/b", "x".repeat(65), "ä")) {
            assertThatThrownBy(() -> builder.label(bad))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("64");
        }
        String longest = "aZ0._-" + "x".repeat(58);
        try (LockClient client = builder.label(longest).connect()) {
            assertThat(client.holderId()).endsWith("/" + longest);
        }
    }

    @Test
    void theTimeForAnExitIsPositive() {
        Leasehold.Builder builder = Leasehold.builder();
        assertThatThrownBy(() -> builder.releaseOnShutdown(Duration.ZERO)).hasMessageContaining("must be positive");
        assertThatThrownBy(() -> builder.releaseOnShutdown(Duration.ofNanos(-1)))
                .hasMessageContaining("must be positive");
        try (LockClient client = builder.releaseOnShutdown().store(store()).connect()) {
            assertThat(client.named("a").acquireAsync().join().isValid()).isTrue();
        }
    }

    @Test
    void optionsThatNobodyNamedAreNoLongerThanTheStoreAccepts() {
        most = Duration.ofSeconds(20);
        try (LockClient client = Leasehold.builder().store(store()).connect()) {
            assertThat(client.named("a").options().ttl()).isEqualTo(most);
        }
        most = LockOptions.defaults().ttl();
        try (LockClient client = Leasehold.builder().store(store()).connect()) {
            assertThat(client.named("a").options()).isEqualTo(LockOptions.defaults());
        }
    }

    @Test
    void aStoreThatPromisesLessIsRefusedAndClosed() {
        IllegalStateException atClose = new IllegalStateException("made by the test");
        Leasehold.Builder builder = Leasehold.builder().store(store(atClose)).require(Guarantee.Scope.NETWORK);
        assertThatThrownBy(builder::connect)
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("Scope NETWORK")
                .satisfies(e -> assertThat(e.getSuppressed()).contains(atClose));
        assertThat(closed).hasValue(1);
        try (LockClient client = Leasehold.builder()
                .store(store())
                .require(Guarantee.Scope.PROCESS)
                .recordAcquisitionStacks()
                .connect()) {
            assertThat(client.guarantees().covers(Guarantee.Scope.PROCESS)).isTrue();
        }
        assertThat(closed).hasValue(2);
    }

    @Test
    void aStoreOfOnesOwnTakesNoCredentialsAndOneHasToBeNamed() {
        assertThatThrownBy(() -> Leasehold.builder()
                        .store(store())
                        .credentials(() -> Credentials.ofPassword("x"))
                        .connect())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("credentials");
        assertThatThrownBy(() -> Leasehold.builder().connect())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("no store was set");
        assertThatThrownBy(() ->
                        Leasehold.builder().store(store()).store("nowhere:").connect())
                .as("the last one counts")
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("nowhere");
    }

    @Test
    void onlyAStoreWithAUriIsOpenedAsItIs() {
        assertThatThrownBy(() -> Leasehold.builder().store(store()).existing().connect())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("existing()");
        try (LockClient client = Leasehold.builder().store("memory:").existing().connect()) {
            assertThat(client.admin().list("*", 9)).isEmpty();
        }
        assertThatThrownBy(() -> Leasehold.builder()
                        .store("memory:")
                        .credentials(() -> Credentials.ofPassword("x"))
                        .existing()
                        .connect())
                .as("the provider gets the credentials")
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("credentials");
    }

    @Test
    void namesAsTextAreExactNames() {
        try (LockClient client = Leasehold.connect("memory:")) {
            LockAdmin admin = client.admin();
            assertThat(admin.inspect("a")).isEmpty();
            assertThat(admin.forceRelease("a", null)).isFalse();
            Lease lease = client.named("a").acquireAsync().join();
            assertThat(admin.inspect("a").map(Holder::id)).isEqualTo(Optional.of(client.holderId()));
            assertThat(admin.waiters("a", 10)).isEqualTo(admin.waiters(LockName.exactly("a"), 10));
            assertThat(admin.forceRelease("a", "another")).isFalse();
            assertThat(admin.forceRelease("a", null)).isTrue();
            assertThat(lease.isValid()).isFalse();
        }
    }

    @Test
    void whatIsNoTextIsShownAsSuch() {
        assertThat(LockName.printable("a\u0007b\ud83dc")).isEqualTo("a?b?c");
        assertThat(LockName.printable("\ue000\ud7ff\udfff\ud800")).isEqualTo("\ue000\ud7ff??");
        assertThat(LockOptions.defaults().renewal(Renewal.none()).renewal()).isEqualTo(Renewal.none());
        assertThatThrownBy(() -> LockName.of("a{x}", (Object) null)).hasMessageContaining("is null");
        assertThatThrownBy(() -> LockName.of("a{x}", " ")).hasMessageContaining("is blank");
        assertThat(Finding.unknown("check", "reason", "remedy"))
                .isEqualTo(new Finding("check", Finding.Grade.UNKNOWN, "reason", "remedy"));
    }
}
