package io.leasehold.cli.command;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.admin.LockAdmin;
import io.leasehold.admin.PermitsStatus;
import io.leasehold.admin.PermitsStatus.HeldPermit;
import io.leasehold.cli.output.Table;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The display of held permits, one line for each. */
final class PermitLines {

    private PermitLines() {}

    /** A table of all held permits; empty if there are none. */
    static List<String> of(List<PermitsStatus> all) {
        Table table = new Table("PERMITS", "SLOT", "OF", "USER", "COMMAND", "LEFT", "TOKEN", "HOLDER");
        boolean isEmpty = true;
        for (PermitsStatus permits : all) {
            for (HeldPermit held : permits.held()) {
                Holder holder = held.holder();
                RunLabel label = RunLabel.in(holder.id());
                isEmpty = false;
                table.row(
                        permits.name().text(),
                        Integer.toString(held.slot()),
                        Integer.toString(permits.count()),
                        label == null ? "-" : label.user(),
                        label == null ? "-" : label.command(),
                        HolderView.remaining(holder),
                        HolderView.token(holder),
                        holder.id());
            }
        }
        return isEmpty ? List.of() : table.lines();
    }

    /**
     * The sentence about held permits of this name, for a verb about its lock; null if none is held. Permits are not
     * what the verb is about: a store that does not show them does not fail it.
     *
     * @param store the {@linkplain LockView#words(io.leasehold.cli.StoreOption) words} for the same store
     */
    static @Nullable String hint(LockAdmin admin, LockName lock, String store) {
        try {
            PermitsStatus permits = admin.permits(lock.asPermits()).orElse(null);
            return permits == null || permits.held().isEmpty()
                    ? null
                    : permits.held().size() + " of " + permits.count()
                            + " permits of that name are held: leasehold permits" + LockView.words(lock, store);
        } catch (LockStoreException e) {
            return null;
        }
    }

    /** One held permit. */
    static Map<String, @Nullable Object> json(PermitsStatus permits, HeldPermit held) {
        Map<String, @Nullable Object> json = new LinkedHashMap<>();
        json.put("permits", permits.name().text());
        json.put("slot", held.slot());
        json.put("count", permits.count());
        json.put("holder", HolderView.json(held.holder()));
        return json;
    }
}
