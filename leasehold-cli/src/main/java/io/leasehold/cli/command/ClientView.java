package io.leasehold.cli.command;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.admin.ClientRecord;
import io.leasehold.admin.LockAdmin;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The display of a holder's own record.
 *
 * @param record the last record of its client
 * @param hold the record's entry for this lock, or null if there is none yet
 */
record ClientView(ClientRecord record, ClientRecord.@Nullable ClientHold hold) {

    /** Reads the record; null if there is none. */
    static @Nullable ClientView of(LockAdmin admin, LockName lock, @Nullable Holder holder) {
        return holder == null
                ? null
                : admin.client(holder.id())
                        .map(record ->
                                new ClientView(record, record.holdOf(lock).orElse(null)))
                        .orElse(null);
    }

    static @Nullable Map<String, @Nullable Object> json(@Nullable ClientView view) {
        if (view == null) {
            return null;
        }
        ClientRecord record = view.record();
        ClientRecord.ClientHold hold = view.hold();
        Map<String, @Nullable Object> json = new LinkedHashMap<>();
        json.put("host", record.host());
        json.put("pid", record.pid());
        json.put("application", record.application());
        json.put("startedAt", record.since().toString());
        Instant reportedAt = record.reportedAt();
        json.put("reportedAt", reportedAt == null ? null : reportedAt.toString());
        json.put("thread", hold == null ? null : hold.thread());
        json.put("heldSince", hold == null ? null : hold.since().toString());
        json.put("renewals", hold == null ? null : hold.renewals());
        return json;
    }

    /**
     * The age of its last report; null if the report has no time, or if its clock and that of this process differ too
     * much.
     */
    @Nullable
    Duration age(Instant now) {
        Instant reportedAt = record.reportedAt();
        if (reportedAt == null) {
            return null;
        }
        Duration age = Duration.between(reportedAt, now);
        boolean clocksDiffer =
                age.compareTo(ClientRecord.INTERVAL.negated()) < 0 || age.compareTo(ClientRecord.KEPT) > 0;
        return clocksDiffer ? null : age.isNegative() ? Duration.ZERO : age;
    }

    List<String> lines() {
        List<String> lines = new ArrayList<>();
        // The label of a run is not an application.
        boolean plain = record.application().isEmpty() || RunLabel.in(record.holderId()) != null;
        String application = plain ? "" : ", " + record.application();
        lines.add("process   " + record.pid() + " on " + record.host() + application);
        ClientRecord.ClientHold known = hold;
        if (known != null) {
            if (!known.thread().isEmpty()) {
                lines.add("thread    " + known.thread());
            }
            Duration age = Duration.between(known.since(), Instant.now());
            lines.add("since     " + known.since() + " (" + HolderView.duration(age.isNegative() ? Duration.ZERO : age)
                    + ")");
            lines.add("renewals  " + known.renewals());
        }
        return lines;
    }
}
