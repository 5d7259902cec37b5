package io.leasehold.redis.node;

import io.leasehold.LockName;
import io.leasehold.redis.wire.Failure;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.NameGlob;
import io.leasehold.redis.wire.ReplyDecoder;
import io.leasehold.spi.LockRecord;
import io.lettuce.core.KeyScanCursor;
import io.lettuce.core.ScanArgs;
import io.lettuce.core.ScanCursor;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Sees and repairs the locks of one node.
 *
 * <p>Futures fail with {@link io.leasehold.LockStoreException}. Listing walks the whole key space in small steps and
 * keeps no more names than are asked for.
 */
final class RedisAdmin {

    private static final long TIMEOUT_NANOS = 5_000_000_000L;
    private static final int KEYS_PER_STEP = 500;
    private static final int INSPECTIONS_AT_ONCE = 100;

    private final Requests requests;
    private final ReplyDecoder decoder;
    private final NodeSettings settings;

    RedisAdmin(Requests requests, ReplyDecoder decoder, NodeSettings settings) {
        this.requests = requests;
        this.decoder = decoder;
        this.settings = settings;
    }

    private static <T> T thrown(Failure failure) {
        throw failure.error();
    }

    CompletableFuture<Optional<LockRecord>> describe(LockName name) {
        return requests.run(
                new Requests.Subject("inspect", name),
                TIMEOUT_NANOS,
                LuaScript.INSPECT,
                new String[] {KeyLayout.lock(name)},
                new String[0],
                (reply, link) -> decoder.inspect(reply, name),
                RedisAdmin::thrown);
    }

    CompletableFuture<Boolean> forceRelease(LockName name, @Nullable String holderId) {
        if (holderId != null && holderId.isEmpty()) {
            // On the wire an empty holder id stands for anybody.
            return CompletableFuture.completedFuture(false);
        }
        String[] arguments = {
            holderId == null ? "" : holderId,
            Long.toString(settings.retentionMicros()),
            Long.toString(settings.windowMicros())
        };
        return requests.run(
                new Requests.Subject("take away", name),
                TIMEOUT_NANOS,
                LuaScript.FORCE_RELEASE,
                RedisNode.lockFenceWaiters(name),
                arguments,
                (reply, link) -> decoder.forceRelease(reply, name),
                RedisAdmin::thrown);
    }

    CompletableFuture<List<LockRecord>> list(String glob, int limit) {
        if (limit <= 0) {
            return CompletableFuture.completedFuture(List.of());
        }
        NameGlob pattern = new NameGlob(glob);
        TreeSet<LockName> names = new TreeSet<>();
        return scan(pattern, limit, ScanCursor.INITIAL, names)
                .thenCompose(done -> inspect(List.copyOf(names), 0, new ArrayList<>()));
    }

    private CompletableFuture<?> scan(NameGlob pattern, int limit, ScanCursor from, TreeSet<LockName> names) {
        ScanArgs arguments = ScanArgs.Builder.matches(pattern.keyPattern()).limit(KEYS_PER_STEP);
        return requests.<KeyScanCursor<String>, KeyScanCursor<String>>send(
                        "list locks",
                        TIMEOUT_NANOS,
                        (link, then) -> link.send(redis -> redis.scan(from, arguments), then),
                        (cursor, link) -> cursor,
                        RedisAdmin::thrown)
                .thenCompose(cursor -> {
                    collect(cursor.getKeys(), pattern, limit, names);
                    return cursor.isFinished()
                            ? CompletableFuture.completedFuture(names)
                            : scan(pattern, limit, ScanCursor.of(cursor.getCursor()), names);
                });
    }

    private static void collect(List<String> keys, NameGlob pattern, int limit, TreeSet<LockName> names) {
        for (String key : keys) {
            LockName name = KeyLayout.nameOf(key);
            if (name != null && pattern.matches(name)) {
                names.add(name);
                if (names.size() > limit) {
                    names.pollLast();
                }
            }
        }
    }

    private CompletableFuture<List<LockRecord>> inspect(List<LockName> names, int from, List<LockRecord> found) {
        if (from >= names.size()) {
            return CompletableFuture.completedFuture(found);
        }
        int to = Math.min(names.size(), from + INSPECTIONS_AT_ONCE);
        List<CompletableFuture<Optional<LockRecord>>> records =
                names.subList(from, to).stream().map(this::describe).toList();
        return CompletableFuture.allOf(records.toArray(CompletableFuture<?>[]::new))
                .thenCompose(done -> {
                    records.forEach(record -> record.join().ifPresent(found::add));
                    return inspect(names, to, found);
                });
    }
}
