package io.leasehold.cdi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Attempt;
import io.leasehold.Fairness;
import io.leasehold.Lease;
import io.leasehold.MultiLease;
import io.leasehold.Permit;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of refusals of one method: each message says what to write. */
@Tag("quick")
class RefusalTest {

    /** Methods whose annotations cannot work. */
    @SuppressWarnings("UnusedMethod")
    static class Bad {

        @Locked(name = "order:{}")
        void noKey() {}

        @Locked(name = "order", key = "id")
        void noPlace(String id) {}

        @Locked(name = "a:{}:b:{}", key = "id")
        void placesLeft(String id) {}

        @Locked(key = "id.length.digits")
        void noStep(String id) {}

        @Locked(key = "id.class")
        void stepOfEveryObject(String id) {}

        @Locked(key = "id.")
        void noLastStep(String id) {}

        @Locked(key = "id")
        void keysTwice(@LockKey String id) {}

        @Locked(maxWait = "soon")
        void noDuration() {}

        @Locked(ttl = "30")
        void noUnit() {}

        @Locked(maxWait = "-PT1S")
        void negative() {}

        @Locked(permits = "many")
        void noNumber() {}

        @Locked(permits = "1001")
        void tooManyPermits() {}

        @Locked
        void permitOfALock(Permit permit) {}

        @Locked(
                name = "db:{}",
                key = {"a", "b"},
                permits = "2")
        void permitsOfSeveral(String a, String b) {}

        @Locked(permits = "2")
        void allPermits(MultiLease lease) {}

        @Locked(permits = "2", mode = LockMode.READ)
        void readersOfPermits() {}

        @Locked(mode = LockMode.READ)
        void readersOfSeveral(MultiLease lease) {}

        @Locked(name = "${no.such.setting}")
        void noSetting() {}

        @Locked(fairness = {Fairness.STRICT_FIFO, Fairness.BOUNDED_LOCAL_HAND_OVER})
        void unfair() {}

        @Locked(fallback = "busy")
        void uncalledFallback() {}

        @Locked(onBusy = OnBusy.FALLBACK, fallback = "busy")
        String noFallback(String id) {
            return id;
        }

        Object busy(String id, Attempt.Busy<?> busy) {
            return id;
        }

        @Locked
        Future<String> future() {
            return new CompletableFuture<>();
        }

        @Locked
        io.vertx.core.Future<String> futureOfVertx() {
            return new io.vertx.core.Future<>() {};
        }

        /** A type of its own, as those of some drivers. */
        interface OwnStage extends CompletionStage<String> {}

        @Locked
        OwnStage ownStage() {
            throw new AssertionError();
        }

        @Locked
        Flow.Publisher<String> publisher() {
            return subscriber -> {};
        }

        @Locked
        Stream<String> stream() {
            return Stream.of();
        }

        @Locked(key = {"a", "b"})
        void oneOfTwo(String a, String b, Lease lease) {}

        @Locked
        void both(Lease lease, MultiLease leases) {}

        @Locked
        void narrowToken(@FencingToken int token) {}

        @Locked
        private void hidden() {}

        @Locked
        static void ofNoBean() {}

        @Locked
        final void unchangeable() {}
    }

    private static Method method(String name) {
        return Stream.of(Bad.class.getDeclaredMethods())
                .filter(one -> one.getName().equals(name))
                .findFirst()
                .orElseThrow();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            noKey | has the name "order:{}" and no key for its placeholder. Write key = "parameter" or @LockKey on a parameter, or a name without {}.
            noPlace | has a key, and the name "order" has no place for it. Write name = "order:{}".
            placesLeft | has 1 key(s) for the 2 placeholders of "a:{}:b:{}". Write one key for each placeholder, or one placeholder that each key fills.
            noStep | has the key "id.length.digits", and int has no digits that can be read. Name a component of a record, a getter or a public method without parameters.
            stepOfEveryObject | has the key "id.class", and String has no class that can be read. Name a component of a record, a getter or a public method without parameters.
            keysTwice | has keys in @Locked and on its parameters. Write key = … or @LockKey, and not both.
            noDuration | has maxWait = "soon", which is not a duration, or is negative. Write 3s, 500ms, 1m30s or PT3S.
            noUnit | has ttl = "30", which is not a duration, or is negative. Write 3s, 500ms, 1m30s or PT3S.
            negative | has maxWait = "-PT1S", which is not a duration, or is negative. Write 3s, 500ms, 1m30s or PT3S.
            noNumber | has permits = "many". Write a number from 1 to 1000, or nothing for the exclusive lock.
            tooManyPermits | has permits = "1001". Write a number from 1 to 1000, or nothing for the exclusive lock.
            permitOfALock | has a parameter of type Permit, and takes an exclusive lock. Write permits = "5" with the number of permits, or take a Lease.
            permitsOfSeveral | takes one of 2 permits of several names. Take one with @Locked, and another one in a method that the body calls.
            allPermits | takes one of 2 permits of several names. Take one with @Locked, and another one in a method that the body calls.
            readersOfPermits | has permits and mode = READ. Write one of them: permits have neither readers nor writers.
            readersOfSeveral | takes a lock for reading of several names. Take one with @Locked, and another one in a method that the body calls.
            noSetting | says "${no.such.setting}", and there is no setting no.such.setting. Set it, or give it a default: ${name:default}.
            unfair | names several kinds of fairness. Name one.
            uncalledFallback | names a fallback that is never called. Add onBusy = OnBusy.FALLBACK, or remove it.
            noFallback | has the fallback "busy", but its class has no such method with the same parameters and result. Write String busy(…) with its parameters, optionally followed by Attempt.Busy.
            future | returns Future, whose work would continue after the lock has been released. Return a CompletionStage, or block inside the method.
            futureOfVertx | returns Future, whose work would continue after the lock has been released. Return a CompletionStage, or block inside the method.
            ownStage | returns OwnStage, whose work would continue after the lock has been released. Return a CompletionStage, or block inside the method.
            publisher | returns Publisher, whose work would continue after the lock has been released. Return a CompletionStage, or block inside the method.
            stream | returns a stream, which is read after the lock has been released. Return a List.
            oneOfTwo | takes several locks, and has a parameter for the lease or the token of one. Take a MultiLease, and read the token of each name from it.
            both | takes several locks, and has a parameter for the lease or the token of one. Take a MultiLease, and read the token of each name from it.
            narrowToken | has a @FencingToken of type int. Make it a long.
            hidden | is private, so that no interceptor can lock it: it would run without the lock. Make it a method that can be overridden.
            ofNoBean | is static, so that no interceptor can lock it: it would run without the lock. Make it a method that can be overridden.
            unchangeable | is final, so that no interceptor can lock it: it would run without the lock. Make it a method that can be overridden.
            """)
    void eachMessageSaysWhatToWrite(String name, String message) {
        Method method = method(name);
        assertThatThrownBy(() -> LockedMethodReader.read(method, method.getAnnotation(Locked.class)))
                .isInstanceOf(LockedUsageException.class)
                .hasMessage(LockedUsageException.shown(method) + " " + message);
    }

    @Test
    void aPathWithoutItsLastPartIsRefused() {
        Method method = method("noLastStep");
        assertThatThrownBy(() -> LockedMethodReader.read(method, method.getAnnotation(Locked.class)))
                .hasMessageContaining("and String has no  that can be read");
    }

    @ParameterizedTest
    @CsvSource({"0, 0", "3s, 3000", "500ms, 500", "1m30s, 90000", "1d2h, 93600000", "PT3S, 3000"})
    void durationsAreReadAsTheyAreWritten(String text, long millis) {
        assertThat(Settings.parsed(text)).isEqualTo(Duration.ofMillis(millis));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "3", "s", "3s1h", "99999999999999999999s", "-1s"})
    void whatIsNoDurationIsRefused(String text) {
        assertThatThrownBy(() -> Settings.parsed(text)).isInstanceOf(IllegalArgumentException.class);
    }
}
