package io.leasehold.jdbc.store;

import io.leasehold.LockName;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * A batch of renewals that has readers or permits: those of each name are renewed in a transaction of their own, and all
 * exclusive locks in one.
 */
final class BatchParts {

    private BatchParts() {}

    /** Whether the batch has readers or permits. */
    static boolean isShared(RenewBatch batch) {
        for (RenewBatch.Item item : batch.items()) {
            if (isShared(item.name())) {
                return true;
            }
        }
        return false;
    }

    private static boolean isShared(LockName name) {
        return name.isPermits() || name.isRead();
    }

    /**
     * Renews the parts of a batch.
     *
     * @param shared renews the readers or permits of one name
     * @param locks renews exclusive locks
     */
    static CompletableFuture<RenewReply> renew(
            RenewBatch batch,
            BiFunction<LockName, RenewBatch, CompletableFuture<RenewReply>> shared,
            Function<RenewBatch, CompletableFuture<RenewReply>> locks) {
        Map<Optional<LockName>, List<Integer>> parts = new LinkedHashMap<>();
        for (int i = 0; i < batch.items().size(); i++) {
            LockName name = batch.items().get(i).name();
            parts.computeIfAbsent(isShared(name) ? Optional.of(name) : Optional.empty(), part -> new ArrayList<>())
                    .add(i);
        }
        RenewReply.Item[] all = new RenewReply.Item[batch.items().size()];
        List<CompletableFuture<Void>> answered = new ArrayList<>();
        parts.forEach((name, indexes) -> {
            RenewBatch part =
                    new RenewBatch(indexes.stream().map(batch.items()::get).toList(), batch.timeoutNanos());
            answered.add(name.map(one -> shared.apply(one, part))
                    .orElseGet(() -> locks.apply(part))
                    .thenAccept(reply -> {
                        for (int i = 0; i < indexes.size(); i++) {
                            all[indexes.get(i)] = reply.items().get(i);
                        }
                    }));
        });
        return CompletableFuture.allOf(answered.toArray(CompletableFuture<?>[]::new))
                .thenApply(done -> new RenewReply(List.of(all)));
    }
}
