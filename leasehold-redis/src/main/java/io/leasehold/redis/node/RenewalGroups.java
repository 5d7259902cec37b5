package io.leasehold.redis.node;

import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * The renewals of one batch, in groups that one script can execute: of one slot and not too many. All groups are sent
 * before the first answer; the answers are in the order of the batch.
 *
 * <p>While a slot moves, its keys are at two servers, and no script may use keys of both. Then each renewal is sent
 * alone, and that of a reader as two scripts of one key each.
 */
final class RenewalGroups {

    private final int most;
    private final int size;
    private final List<Group> groups = new ArrayList<>();

    /** The renewals of one script; the positions are those of the batch. */
    static final class Group {
        private final String slot;
        private final List<RenewBatch.Item> items = new ArrayList<>();
        private final List<String> keys = new ArrayList<>();
        private int[] positions = new int[16];

        private Group(String slot) {
            this.slot = slot;
        }

        private void add(RenewBatch.Item item, String key, int position) {
            if (items.size() == positions.length) {
                positions = Arrays.copyOf(positions, 2 * positions.length);
            }
            positions[items.size()] = position;
            items.add(item);
            keys.add(key);
        }

        List<RenewBatch.Item> items() {
            return items;
        }

        /** Their keys, in the same order. */
        List<String> keys() {
            return keys;
        }

        private Group only(int index) {
            Group alone = new Group(slot);
            alone.add(items.get(index), keys.get(index), 0);
            return alone;
        }
    }

    RenewalGroups(
            List<RenewBatch.Item> items,
            int most,
            Function<RenewBatch.Item, String> keyOf,
            BiFunction<RenewBatch.Item, String, String> groupOf) {
        this.most = most;
        this.size = items.size();
        Map<String, Group> open = new HashMap<>();
        Group last = null;
        for (int i = 0; i < items.size(); i++) {
            RenewBatch.Item item = items.get(i);
            String key = keyOf.apply(item);
            String slot = groupOf.apply(item, key);
            // Most batches are of one slot: no search for those.
            if (last == null || isFull(last) || !last.slot.equals(slot)) {
                Group found = open.get(slot);
                last = found == null || isFull(found) ? begun(slot, open) : found;
            }
            last.add(item, key, i);
        }
    }

    private boolean isFull(Group group) {
        return group.items.size() >= most;
    }

    private Group begun(String slot, Map<String, Group> open) {
        Group group = new Group(slot);
        open.put(slot, group);
        groups.add(group);
        return group;
    }

    /** Sends each group. */
    CompletableFuture<List<RenewReply.Item>> renew(Function<Group, CompletableFuture<List<RenewReply.Item>>> send) {
        List<CompletableFuture<List<RenewReply.Item>>> sent =
                groups.stream().map(group -> renew(group, send)).toList();
        return CompletableFuture.allOf(sent.toArray(CompletableFuture<?>[]::new))
                .thenApply(done -> {
                    RenewReply.Item[] all = new RenewReply.Item[size];
                    for (int g = 0; g < groups.size(); g++) {
                        List<RenewReply.Item> answers = sent.get(g).join();
                        for (int i = 0; i < answers.size(); i++) {
                            all[groups.get(g).positions[i]] = answers.get(i);
                        }
                    }
                    return List.of(all);
                });
    }

    private static CompletableFuture<List<RenewReply.Item>> renew(
            Group group, Function<Group, CompletableFuture<List<RenewReply.Item>>> send) {
        CompletableFuture<List<RenewReply.Item>> first = send.apply(group);
        int together = group.items.size();
        if (together == 1) {
            return first;
        }
        return first.thenCompose(answers -> {
            if (!FailedReplies.isOfMigration(answers.get(0))) {
                return CompletableFuture.completedFuture(answers);
            }
            List<CompletableFuture<List<RenewReply.Item>>> each = new ArrayList<>(together);
            for (int i = 0; i < together; i++) {
                each.add(send.apply(group.only(i)));
            }
            return CompletableFuture.allOf(each.toArray(CompletableFuture<?>[]::new))
                    .thenApply(done ->
                            each.stream().flatMap(one -> one.join().stream()).toList());
        });
    }
}
