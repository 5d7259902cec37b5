package io.leasehold.fencing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("quick")
class FencingGuardTest {

    private final FencingGuard guard = FencingGuard.inMemory();

    @Test
    void admitsTheSameHolderManyTimesAndOlderOnesNever() {
        assertThat(guard.admit("order", 7)).isEqualTo(new Admission.Admitted("order", 7));
        assertThat(guard.admit("order", 7).isAdmitted()).isTrue();
        assertThat(guard.admit("order", 9).isAdmitted()).isTrue();
        assertThat(guard.admit("order", 7)).isEqualTo(new Admission.Rejected("order", 7, 9));
        assertThat(guard.admit("another", 7).isAdmitted()).isTrue();
    }

    @Test
    void saysWhatToDoAboutARejection() {
        guard.admit("order:1", 9);

        assertThatThrownBy(() -> guard.admit("order:1", 7).orElseThrow())
                .isInstanceOf(StaleTokenException.class)
                .hasMessageContainingAll("order:1", "7", "9", "acquire the lock again");
        assertThatThrownBy(() -> new Admission.Missing("order:2", 7).orElseThrow())
                .isInstanceOf(FencedResourceMissingException.class)
                .hasMessageContainingAll("order:2", "7");
    }

    @Test
    void refusesWhatNoLeaseCanHaveGiven() {
        for (long token : new long[] {0, -1, Long.MIN_VALUE, 1L << 53}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> guard.admit("order", token))
                    .withMessageContaining(Long.toString(token));
        }
        assertThat(guard.admit("order", FencingToken.LARGEST).isAdmitted()).isTrue();
    }

    @Test
    void tellsItsObserver() {
        List<Admission> seen = new ArrayList<>();
        FencingGuard told = guard.reportingTo(seen::add);
        told.admit("order", 2);
        told.admit("order", 1);

        assertThat(seen).containsExactly(new Admission.Admitted("order", 2), new Admission.Rejected("order", 1, 2));
    }

    @Test
    void neverAdmitsASmallerTokenAfterALargerOneInAnyThread() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            List<Future<Boolean>> runs = new ArrayList<>();
            for (int thread = 0; thread < 4; thread++) {
                long offset = thread;
                runs.add(threads.submit(() -> {
                    long largest = 0;
                    for (long i = 1; i <= 20_000; i++) {
                        long token = i * 4 + offset - (i % 3) * 8;
                        if (token < 1) {
                            continue;
                        }
                        if (guard.admit("hot", token).isAdmitted()) {
                            if (token < largest) {
                                return false;
                            }
                            largest = token;
                        }
                    }
                    return true;
                }));
            }
            for (Future<Boolean> run : runs) {
                assertThat(run.get()).isTrue();
            }
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    void anObserverHearsEachAnswerAndTheAnswerIsTheGuards() {
        List<Admission> heard = new ArrayList<>();
        FencingGuard told = guard.reportingTo(heard::add);
        Admission first = told.admit("order", 9);
        Admission second = told.admit("order", 7);
        assertThat(first).isEqualTo(new Admission.Admitted("order", 9));
        assertThat(heard).containsExactly(first, second);
        assertThatThrownBy(second::orElseThrow)
                .isInstanceOfSatisfying(
                        StaleTokenException.class,
                        e -> assertThat(e.rejection()).isEqualTo(second));
        assertThatThrownBy(() -> new Admission.Missing("order:2", 7).orElseThrow())
                .isInstanceOfSatisfying(
                        FencedResourceMissingException.class,
                        e -> assertThat(e.resource()).isEqualTo("order:2"));
    }

    @Test
    void readersRefuseOlderWritersAndNotEachOther() {
        guard.admit("order", 5).orElseThrow();
        assertThat(guard.admit("order", 9, Access.READ)).isEqualTo(new Admission.Admitted("order", 9));
        assertThat(guard.admit("order", 7, Access.READ).isAdmitted()).isTrue();
        assertThat(guard.admit("order", 8, Access.WRITE)).isEqualTo(new Admission.Rejected("order", 8, 9));
        assertThat(guard.admit("order", 8)).isEqualTo(new Admission.Rejected("order", 8, 9));
        assertThat(guard.admit("order", 10).isAdmitted()).isTrue();
        assertThat(guard.admit("order", 9, Access.READ)).isEqualTo(new Admission.Rejected("order", 9, 10));
        assertThat(guard.admit("another", 1, Access.READ).isAdmitted()).isTrue();
        assertThatNullPointerException().isThrownBy(() -> guard.admit("order", 11, (Access) null));
        assertThatIllegalArgumentException().isThrownBy(() -> guard.admit("order", 0, Access.READ));
    }

    /** A lease says itself of which kind it is. */
    @Test
    void aLeasePresentsItsTokenAndItsKind() throws InterruptedException {
        try (LockClient client = Leasehold.connect("memory:");
                Lease lease = client.named("order").acquire()) {
            assertThat(Access.of(lease)).isEqualTo(Access.WRITE);
            assertThat(guard.admit("order", lease)).isEqualTo(new Admission.Admitted("order", lease.fencingToken()));
            assertThat(guard.admit("order", lease.fencingToken() - 1, Access.READ)
                            .isAdmitted())
                    .as("it is a writer's")
                    .isFalse();
        }
    }

    @Test
    void aReadLeaseIsAReader() throws InterruptedException {
        try (LockClient client = Leasehold.connect("memory:");
                Lease lease = client.readWrite("order").read().acquire()) {
            assertThat(Access.of(lease)).isEqualTo(Access.READ);
            assertThat(guard.admit("order", lease).isAdmitted()).isTrue();
            assertThat(guard.admit("order", lease.fencingToken() - 1, Access.READ)
                            .isAdmitted())
                    .as("readers do not refuse each other")
                    .isTrue();
            assertThat(guard.admit("order", lease.fencingToken() - 1).isAdmitted())
                    .as("a late writer")
                    .isFalse();
        }
    }

    /** A guard of the user's own that keeps one number: safe, though its readers refuse each other. */
    @Test
    void aGuardThatKnowsNoReadersTakesThemForWriters() {
        FencingGuard oneNumber = (resource, token) -> guard.admit(resource, token);
        assertThat(oneNumber.admit("order", 9, Access.READ).isAdmitted()).isTrue();
        assertThat(oneNumber.admit("order", 7, Access.READ)).isEqualTo(new Admission.Rejected("order", 7, 9));
    }

    @Test
    void anObservedGuardKnowsReadersToo() {
        List<Admission> heard = new ArrayList<>();
        FencingGuard told = guard.reportingTo(heard::add);
        told.admit("order", 9, Access.READ);
        told.admit("order", 7, Access.READ);
        told.admit("order", 8, Access.WRITE);
        assertThat(heard)
                .containsExactly(
                        new Admission.Admitted("order", 9),
                        new Admission.Admitted("order", 7),
                        new Admission.Rejected("order", 8, 9));
        assertThatNullPointerException().isThrownBy(() -> guard.reportingTo(null));
    }

    /** Admitted uses that conflict come in the order of their tokens, whatever the threads do. */
    @Test
    void answersOfSeveralThreadsAreThoseOfSomeOrder() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(3);
        try {
            for (int round = 0; round < 300; round++) {
                String resource = "round " + round;
                List<Future<Boolean>> uses = new ArrayList<>();
                for (long token = 1; token <= 3; token++) {
                    long mine = token;
                    uses.add(threads.submit(() -> guard.admit(resource, mine, mine == 2 ? Access.WRITE : Access.READ)
                            .isAdmitted()));
                }
                boolean first = uses.get(0).get();
                boolean second = uses.get(1).get();
                assertThat(uses.get(2).get()).isTrue();
                assertThat(first || second)
                        .as("only the writer refuses the first")
                        .isTrue();
                assertThat(guard.admit(resource, 1, Access.READ).isAdmitted()).isEqualTo(!second);
            }
        } finally {
            threads.shutdownNow();
        }
    }

    /** An admission that another one overtakes, between reading the pair and replacing it, is decided again. */
    @Test
    void anAdmissionThatIsOvertakenIsDecidedAgain() {
        for (long earlier : new long[] {0, 1}) {
            Deque<Runnable> between = new ArrayDeque<>();
            FencingGuard raced = new InMemoryFencingGuard(new ConcurrentHashMap<>() {
                private static final long serialVersionUID = 1L;

                @Override
                public TokenPair get(Object resource) {
                    TokenPair pair = super.get(resource);
                    Runnable other = between.poll();
                    if (other != null) {
                        other.run();
                    }
                    return pair;
                }
            });
            if (earlier > 0) {
                raced.admit("order", earlier).orElseThrow();
            }
            between.add(() -> raced.admit("order", 9).orElseThrow());
            assertThat(raced.admit("order", 7)).isEqualTo(new Admission.Rejected("order", 7, 9));
            between.add(() -> raced.admit("order", 12, Access.READ).orElseThrow());
            assertThat(raced.admit("order", 10, Access.READ).isAdmitted()).isTrue();
            assertThat(raced.admit("order", 11)).isEqualTo(new Admission.Rejected("order", 11, 12));
        }
    }
}
