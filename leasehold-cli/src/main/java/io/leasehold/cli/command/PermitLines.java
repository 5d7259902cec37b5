package io.leasehold.cli.command;

import io.leasehold.Holder;
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
