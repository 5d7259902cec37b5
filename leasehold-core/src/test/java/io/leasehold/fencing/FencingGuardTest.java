package io.leasehold.fencing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
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
}
