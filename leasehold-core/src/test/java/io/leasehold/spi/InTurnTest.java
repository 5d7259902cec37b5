package io.leasehold.spi;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.spi.toolkit.InTurn;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The number of requests in flight, and the answers that count. */
@Tag("quick")
final class InTurnTest {

    private final Map<Integer, CompletableFuture<Boolean>> asked = new LinkedHashMap<>();
    private final Map<Integer, CompletableFuture<Optional<String>>> named = new LinkedHashMap<>();

    private CompletableFuture<Boolean> ask(int element) {
        return asked.computeIfAbsent(element, any -> new CompletableFuture<>());
    }

    private CompletableFuture<Optional<String>> name(int element) {
        return named.computeIfAbsent(element, any -> new CompletableFuture<>());
    }

    private static List<Integer> elements(int number) {
        return IntStream.range(0, number).boxed().toList();
    }

    @Test
    void eachQuestionFollowsTheAnswerToTheOneBefore() {
        CompletableFuture<Boolean> any = InTurn.any(elements(3), this::ask);
        assertThat(asked).hasSize(1);
        ask(0).complete(false);
        ask(1).complete(true);
        assertThat(asked).as("all are asked").hasSize(3);
        assertThat(any).isNotDone();
        ask(2).complete(false);
        assertThat(any).isCompletedWithValue(true);
        assertThat(InTurn.any(elements(2), element -> CompletableFuture.completedFuture(false)))
                .isCompletedWithValue(false);
        assertThat(InTurn.any(List.<Integer>of(), this::ask)).isCompletedWithValue(false);
    }

    @Test
    void afterAFailureNothingIsAsked() {
        CompletableFuture<Boolean> any = InTurn.any(elements(3), this::ask);
        ask(0).completeExceptionally(new IllegalStateException("broken"));
        assertThat(any).isCompletedExceptionally();
        assertThat(asked).hasSize(1);
    }

    @Test
    void someAreAskedAtOnceUntilThereAreAnswersEnough() {
        CompletableFuture<List<String>> some = InTurn.some(elements(7), 3, 2, this::name);
        assertThat(named).hasSize(3);
        name(1).complete(Optional.of("b"));
        name(2).complete(Optional.empty());
        assertThat(named).as("the part is not over").hasSize(3);
        name(0).complete(Optional.empty());
        assertThat(named).as("the next part").hasSize(6);
        for (int element : new int[] {5, 4, 3}) {
            name(element).complete(Optional.of("" + element));
        }
        assertThat(some).as("in the order of the elements").isCompletedWithValue(List.of("b", "3"));
        assertThat(named).as("there are enough").hasSize(6);
    }

    @Test
    void allAnswersAreToldWhereTheyAreFew() {
        List<Integer> seen = new ArrayList<>();
        CompletableFuture<List<Integer>> some = InTurn.some(elements(7), 3, 10, element -> {
            seen.add(element);
            return CompletableFuture.completedFuture(Optional.of(element).filter(one -> one % 2 == 0));
        });
        assertThat(some).isCompletedWithValue(List.of(0, 2, 4, 6));
        assertThat(seen).isEqualTo(elements(7));
        assertThat(InTurn.some(elements(7), 3, 0, this::name)).isCompletedWithValue(List.of());
        assertThat(named).isEmpty();
    }
}
