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

/** One question to several servers, of whose answers the best counts. Guarded by itself. */
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
     * The rules by which answers count.
     *
     * @param better chooses between the best so far and the next
     * @param enough whether the others are waited for no longer than their time
     * @param graceNanos that time
     * @param nobody the failure where nobody has answered, of what each has said, and the first reason
     */
    record Rules<A>(
            BinaryOperator<A> better,
            Predicate<A> enough,
            long graceNanos,
            BiFunction<String, @Nullable Throwable, LockStoreException> nobody) {}

    /** The best answer, once all have come, or one that is enough and the others have had their time. */
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

    /** All have failed: what trying again would not change is said alone. */
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
        return rules.nobody().apply(reasons, failures.isEmpty() ? null : failures.get(0));
    }
}
