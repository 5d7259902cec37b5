package io.leasehold.spi.toolkit;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** Sends one request for each element of a list, a few at a time. */
public final class InTurn {

    private InTurn() {}

    /** Returns whether any answer is true. Each request follows the answer to the previous one, and all are sent. */
    public static <T> CompletableFuture<Boolean> any(
            List<T> elements, Function<? super T, CompletableFuture<Boolean>> question) {
        CompletableFuture<Boolean> any = CompletableFuture.completedFuture(false);
        for (T element : elements) {
            any = any.thenCompose(before -> question.apply(element).thenApply(answer -> before || answer));
        }
        return any;
    }

    /**
     * The first answers that are not empty, in the order of the elements.
     *
     * @param atOnce the number of concurrent requests
     * @param limit the maximum number of answers; once they have arrived, no further request is sent
     */
    public static <T, R> CompletableFuture<List<R>> some(
            List<T> elements, int atOnce, int limit, Function<? super T, CompletableFuture<Optional<R>>> question) {
        return some(elements, atOnce, limit, question, new ArrayList<>());
    }

    private static <T, R> CompletableFuture<List<R>> some(
            List<T> left,
            int atOnce,
            int limit,
            Function<? super T, CompletableFuture<Optional<R>>> question,
            List<R> found) {
        if (left.isEmpty() || found.size() >= limit) {
            return CompletableFuture.completedFuture(found.subList(0, Math.min(limit, found.size())));
        }
        int part = Math.min(left.size(), atOnce);
        List<CompletableFuture<Optional<R>>> asked =
                left.subList(0, part).stream().map(question).toList();
        return CompletableFuture.allOf(asked.toArray(CompletableFuture[]::new)).thenCompose(nothing -> {
            asked.forEach(answer -> answer.join().ifPresent(found::add));
            return some(left.subList(part, left.size()), atOnce, limit, question, found);
        });
    }
}
