package io.leasehold.cli.command;

import io.leasehold.LockClient;
import io.leasehold.admin.Finding;
import io.leasehold.admin.Finding.Grade;
import io.leasehold.cli.ExitCode;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.StoreOption;
import io.leasehold.cli.output.Json;
import io.leasehold.cli.output.Line;
import io.leasehold.cli.output.Style;
import io.leasehold.cli.output.Table;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code leasehold doctor}: grades a store, with reasons and remedies. */
@Command(
        name = "doctor",
        header = "Checks whether the store is safe for locks.",
        description = {
            "Prints a fix for each problem.",
            "Exits 0 if all is good, 1 with warnings, 78 if locks are not safe."
        })
public final class DoctorCommand implements Callable<Integer> {

    private final Invocation invocation;
    private final StoreOption store;

    @Option(names = "--json", description = "Writes one line of JSON for each check.")
    private boolean json;

    /** A command of this invocation. */
    public DoctorCommand(Invocation invocation, StoreOption store) {
        this.invocation = invocation;
        this.store = store;
    }

    @Override
    public Integer call() {
        List<Finding> findings;
        try (LockClient locks = StoreAccess.open(invocation, store)) {
            findings = locks.admin().diagnose();
        }
        if (json) {
            findings.forEach(finding -> invocation.terminal().printJson(json(finding)));
        } else {
            Table table = new Table("GRADE", "CHECK", "WHY");
            findings.forEach(finding -> {
                table.row(finding.grade().name().toLowerCase(Locale.ROOT), finding.check(), finding.reason());
                String remedy = finding.remedy();
                if (remedy != null) {
                    table.row("", "", "  → " + remedy);
                }
            });
            print(findings, table.lines());
        }
        return exitCode(findings).code();
    }

    /** The grade colours the line of the finding; its remedy follows plainly. */
    private void print(List<Finding> findings, List<String> lines) {
        invocation.terminal().print(new Line(Style.HEADING, lines.get(0)));
        int next = 1;
        for (Finding finding : findings) {
            Style style = switch (finding.grade()) {
                case GOOD -> Style.GOOD;
                case UNKNOWN -> Style.PLAIN;
                case WARNING -> Style.WARNING;
                case UNSAFE -> Style.BAD;
            };
            invocation.terminal().print(new Line(style, lines.get(next++)));
            if (finding.remedy() != null) {
                invocation.terminal().print(lines.get(next++));
            }
        }
    }

    static ExitCode exitCode(List<Finding> findings) {
        if (findings.stream().anyMatch(finding -> finding.grade() == Grade.UNSAFE)) {
            return ExitCode.UNSAFE;
        }
        return findings.stream().allMatch(finding -> finding.grade() == Grade.GOOD) ? ExitCode.OK : ExitCode.FOUND;
    }

    private static Map<String, @Nullable Object> json(Finding finding) {
        Map<String, @Nullable Object> json = new LinkedHashMap<>();
        json.put("check", new Json.Word(finding.check()));
        json.put("grade", new Json.Word(finding.grade().name().toLowerCase(Locale.ROOT)));
        json.put("reason", finding.reason());
        json.put("remedy", finding.remedy());
        return json;
    }
}
