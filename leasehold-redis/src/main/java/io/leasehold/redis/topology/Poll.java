package io.leasehold.redis.topology;

import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.Failure;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.BinaryOperator;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** One question to several servers, of which the best answer counts. Guarded by {@code this}. */
final class Poll<A> {

    private final CompletableFuture<A> result = new CompletableFuture<>();
    private final List<Throwable> failures = new ArrayList<>();
    private final Rules<A> rules;
    private final int expected;
    private final LockRuntime runtime;
    private @Nullable A best;
    private int answers;
    private boolean enough;

    private Poll(Rules<A> rules, int expected, LockRuntime runtime) {
        this.rules = rules;
        this.expected = expected;
        this.runtime = runtime;
    }

    /**
     * The rules for the answers.
     *
     * @param better chooses between the best answer so far and the next one
     * @param enough whether an answer is good enough to limit the wait for the others
     * @param graceNanos the limit of that wait
     * @param noAnswer makes the failure when no server has answered, from the reasons of all servers and the first
     *     cause
     */
    record Rules<A>(
            BinaryOperator<A> better,
            Predicate<A> enough,
            long graceNanos,
            BiFunction<String, @Nullable Throwable, LockStoreException> noAnswer) {}

    /**
     * Completes with the best answer, after all answers, or after one that is good enough and the time for the others.
     */
    static <A> CompletableFuture<A> of(List<CompletableFuture<A>> asked, Rules<A> rules, LockRuntime runtime) {
        Poll<A> poll = new Poll<>(rules, asked.size(), runtime);
        asked.forEach(one -> one.whenComplete(poll::add));
        if (asked.isEmpty()) {
            poll.decide();
        }
        return poll.result;
    }

    private void add(@Nullable A answer, @Nullable Throwable failure) {
        boolean last;
        boolean first = false;
        synchronized (this) {
            if (answer != null) {
                answers++;
                A before = best;
                best = before == null ? answer : rules.better().apply(before, answer);
                first = !enough && rules.enough().test(answer);
                enough |= first;
            } else if (failure != null) {
                failures.add(Failure.unwrapped(failure));
            }
            last = answers + failures.size() == expected;
        }
        if (last) {
            decide();
        } else if (first) {
            runtime.schedule(rules.graceNanos(), this::decide);
        }
    }

    private void decide() {
        A decided;
        synchronized (this) {
            decided = best;
        }
        if (decided != null) {
            result.complete(decided);
        } else {
            result.completeExceptionally(verdict());
        }
    }

    /** The failure when all servers have failed. If a reason does not go away with a retry, it alone is reported. */
    private LockStoreException verdict() {
        for (Throwable failure : failures) {
            if (failure instanceof LockStoreException known && !(failure instanceof StoreUnavailableException)) {
                return known;
            }
        }
        String reasons = failures.stream()
                .map(failure -> String.valueOf(failure.getMessage()))
                .distinct()
                .collect(Collectors.joining("; "));
        return rules.noAnswer().apply(reasons, failures.isEmpty() ? null : failures.get(0));
    }
}
