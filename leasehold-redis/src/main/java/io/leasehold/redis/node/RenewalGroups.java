package io.leasehold.redis.node;

import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * The renewals of one batch, in groups that one script can execute: of one slot and not too many. All groups are sent
 * before the first answer; the answers are in the order of the batch.
 *
 * <p>While a slot moves, its keys are at two servers, and no script may use keys of both. Then each renewal is sent
 * alone.
 */
final class RenewalGroups {

    private final List<RenewBatch.Item> items;
    /** The groups, as positions in the batch. */
    private final List<List<Integer>> groups = new ArrayList<>();

    RenewalGroups(List<RenewBatch.Item> items, int most, Function<RenewBatch.Item, String> slotOf) {
        this.items = items;
        Map<String, List<Integer>> open = new LinkedHashMap<>();
        for (int i = 0; i < items.size(); i++) {
            List<Integer> group = open.computeIfAbsent(slotOf.apply(items.get(i)), slot -> new ArrayList<>());
            group.add(i);
            if (group.size() == most) {
                groups.add(group);
                open.remove(slotOf.apply(items.get(i)));
            }
        }
        groups.addAll(open.values());
    }

    /** Sends each group. */
    CompletableFuture<List<RenewReply.Item>> renew(
            Function<List<RenewBatch.Item>, CompletableFuture<List<RenewReply.Item>>> send) {
        List<CompletableFuture<List<RenewReply.Item>>> sent =
                groups.stream().map(group -> renew(group, send)).toList();
        return CompletableFuture.allOf(sent.toArray(CompletableFuture<?>[]::new))
                .thenApply(done -> {
                    RenewReply.Item[] all = new RenewReply.Item[items.size()];
                    for (int g = 0; g < groups.size(); g++) {
                        List<RenewReply.Item> answers = sent.get(g).join();
                        for (int i = 0; i < answers.size(); i++) {
                            all[groups.get(g).get(i)] = answers.get(i);
                        }
                    }
                    return List.of(all);
                });
    }

    private CompletableFuture<List<RenewReply.Item>> renew(
            List<Integer> group, Function<List<RenewBatch.Item>, CompletableFuture<List<RenewReply.Item>>> send) {
        List<RenewBatch.Item> together = group.stream().map(items::get).toList();
        CompletableFuture<List<RenewReply.Item>> first = send.apply(together);
        if (together.size() == 1) {
            return first;
        }
        return first.thenCompose(answers -> {
            if (!(answers.get(0) instanceof RenewReply.Failed failed && FailedReplies.isOfMigration(failed.error()))) {
                return CompletableFuture.completedFuture(answers);
            }
            List<CompletableFuture<List<RenewReply.Item>>> each =
                    together.stream().map(item -> send.apply(List.of(item))).toList();
            return CompletableFuture.allOf(each.toArray(CompletableFuture<?>[]::new))
                    .thenApply(done ->
                            each.stream().flatMap(one -> one.join().stream()).toList());
        });
    }
}
