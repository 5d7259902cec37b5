package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.LockBusyException;
import io.leasehold.LockClient;
import io.leasehold.MultiLease;
import io.leasehold.Permit;
import io.leasehold.PermitCountException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import reactor.core.publisher.Mono;

/** Tests of methods that take one of several permits. */
@Tag("quick")
class LockedPermitsTest {

    private final AnnotationConfigApplicationContext application =
            Application.of(MemoryLocks.class, Pool.class, Others.class);
    private final LockClient locks = application.getBean(LockClient.class);
    private final Pool pool = application.getBean(Pool.class);

    @AfterEach
    void close() {
        application.close();
    }

    static class Pool {

        @Locked(name = "db", permits = "2", maxWait = "0")
        public <T> T use(Permit permit, Supplier<T> body) {
            assertThat(permit.isValid()).isTrue();
            assertThat(Locks.current()).isSameAs(permit);
            return body.get();
        }

        @Locked(name = "db", permits = "${pool.size:2}", maxWait = "0", maxHold = "1h")
        public int slot(Permit permit) {
            return permit.slot();
        }

        @Locked(name = "db", permits = "2", maxWait = "0")
        public long token(Lease lease, @FencingToken long token) {
            assertThat(lease).isInstanceOf(Permit.class);
            return token;
        }

        @Locked(name = "db:{}", key = "#region", permits = "1", maxWait = "0")
        public String regional(Object region, Permit permit) {
            return permit.lockName().text();
        }

        @Locked(name = "db", permits = "2", maxWait = "0")
        public CompletionStage<Integer> later(Permit permit) {
            return CompletableFuture.completedFuture(permit.slot());
        }

        @Locked(name = "db", permits = "2", maxWait = "0")
        public Mono<Integer> published(Permit permit) {
            return Mono.fromSupplier(permit::slot);
        }
    }

    static class Others {

        @Locked(name = "db", permits = "3", maxWait = "0")
        public int another(Permit permit) {
            return permit.slot();
        }
    }

    @Test
    void eachCallHasASlotOfItsOwn() throws Exception {
        try (Permit taken = locks.permits("db", 2).acquire()) {
            int free = 1 - taken.slot();
            assertThat(pool.slot(null)).isEqualTo(free);
            assertThat(pool.token(null, 0)).isGreaterThan(taken.fencingToken());
            assertThat(pool.later(null).toCompletableFuture().get(1, TimeUnit.MINUTES))
                    .isEqualTo(free);
            assertThat(pool.published(null).block(Duration.ofMinutes(1))).isEqualTo(free);
            try (Permit last = locks.permits("db", 2).acquire()) {
                assertThat(last.slot()).isEqualTo(free);
                assertThatThrownBy(() -> pool.slot(null)).isInstanceOf(LockBusyException.class);
            }
            try (Lease exclusive = locks.named("db").acquire()) {
                assertThat(pool.slot(null)).as("beside %s", exclusive).isEqualTo(free);
            }
        }
        application.getBean(MemoryLocks.Counting.class).assertNoneHeld();
    }

    @Test
    void aBodyCannotTakeASecondPermitOfItsName() {
        assertThatThrownBy(() -> pool.use(null, () -> pool.slot(null)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("db");
        assertThat(pool.use(null, () -> pool.regional("eu", null))).isEqualTo("db:eu");
    }

    @Test
    void aKeyNamesThePermitsOfOneName() {
        assertThat(pool.regional(List.of("eu"), null)).isEqualTo("db:eu");
        assertThatThrownBy(() -> pool.regional(List.of("eu", "us"), null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(
                        "@Locked method Pool.regional(Object, Permit): the key has 2 values, and a call takes one of 1 permits of one name");
    }

    @Test
    void anotherCountIsRefusedWithBoth() throws Exception {
        Others others = application.getBean(Others.class);
        pool.use(
                null,
                () -> assertThatThrownBy(() -> locks.permits("db", 3).attempt(Duration.ZERO))
                        .isInstanceOf(PermitCountException.class));
        try (Permit taken = locks.permits("db", 2).acquire()) {
            assertThatThrownBy(() -> others.another(null))
                    .as("beside %s", taken)
                    .isInstanceOfSatisfying(PermitCountException.class, refused -> {
                        assertThat(refused.stated()).isEqualTo(3);
                        assertThat(refused.kept()).isEqualTo(2);
                    });
        }
    }

    static class NoNumber {
        @Locked(permits = "many", maxWait = "0")
        public void run() {}
    }

    static class None {
        @Locked(permits = "0", maxWait = "0")
        public void run() {}
    }

    static class PermitOfALock {
        @Locked(maxWait = "0")
        public void run(Permit permit) {}
    }

    static class Several {
        @Locked(
                name = "db:{}",
                key = {"#a", "#b"},
                permits = "2",
                maxWait = "0")
        public void run(String a, String b) {}
    }

    static class AllOfThem {
        @Locked(permits = "2", maxWait = "0")
        public void run(MultiLease lease) {}
    }

    @Test
    void whatCannotWorkIsRefusedAtTheStart() {
        assertThat(Application.refused(MemoryLocks.class, NoNumber.class))
                .hasMessage("@Locked method NoNumber.run() has permits = \"many\"."
                        + " Write a number from 1 to 1000, or nothing for the exclusive lock.");
        assertThat(Application.refused(MemoryLocks.class, None.class)).hasMessageContaining("has permits = \"0\"");
        assertThat(Application.refused(MemoryLocks.class, PermitOfALock.class))
                .hasMessage(
                        "@Locked method PermitOfALock.run(Permit) has a parameter of type Permit, and takes an exclusive"
                                + " lock. Write permits = \"5\" with the number of permits, or take a Lease.");
        for (Class<?> several : List.of(Several.class, AllOfThem.class)) {
            assertThat(Application.refused(MemoryLocks.class, several))
                    .hasMessageContaining("takes one of 2 permits of several names");
        }
    }

    static class AsALock {
        @Locked(name = "db", maxWait = "0")
        public void run() {}
    }

    @Test
    void twoKindsOfOneNameAreTold() {
        assertThat(Application.refused(MemoryLocks.class, LockedRefusalTest.Strict.class, AsALock.class, Others.class))
                .hasMessageContaining("names \"db\" as ")
                .hasMessageContaining("an exclusive lock")
                .hasMessageContaining("one of 3 permits");
        assertThat(Application.refused(MemoryLocks.class, LockedRefusalTest.Strict.class, Pool.class, Others.class))
                .hasMessageContaining("one of 2 permits")
                .hasMessageContaining("one of 3 permits");
    }
}
