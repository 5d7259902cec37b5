package io.leasehold.cli.command;

import io.leasehold.LockClient;
import io.leasehold.NodeVote;
import io.leasehold.cli.ExitCode;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.StoreOption;
import io.leasehold.cli.output.SafeText;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code leasehold redlock init}: an operator's declaration that the nodes of a set have lost nothing. */
@Command(
        name = "redlock",
        header = "Declares the nodes of a new Redlock set new.",
        description = {
            "They then grant at once instead of after the quarantine.",
            "Never do that while clients use them."
        })
public final class RedlockCommand implements Callable<Integer> {

    private final Invocation invocation;
    private final StoreOption store;

    /** The action. */
    enum Action {
        /** Declare the nodes new. */
        INIT
    }

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    @Parameters(index = "0", paramLabel = "ACTION", description = "Must be init.")
    @SuppressWarnings("NullAway.Init")
    private Action action;

    @Option(names = "--yes", description = "Confirms that no client has used them within maxTtl.")
    private boolean yes;

    @Option(names = "--json", description = "Writes one line of JSON for each node.")
    private boolean json;

    /** A command of this invocation. */
    public RedlockCommand(Invocation invocation, StoreOption store) {
        this.invocation = invocation;
        this.store = store;
    }

    @Override
    public Integer call() {
        if (!yes) {
            throw new ParameterException(
                    spec.commandLine(),
                    "redlock " + action.name().toLowerCase(Locale.ROOT)
                            + " declares that no client has used these nodes" + " within maxTtl: say so with --yes");
        }
        List<NodeVote> votes;
        try (LockClient locks = StoreAccess.open(invocation, store)) {
            votes = locks.admin().declareNewNodes();
        }
        votes.forEach(this::print);
        boolean all = votes.stream().allMatch(vote -> vote.answer() == NodeVote.Answer.GRANTED);
        return all ? ExitCode.OK.code() : ExitCode.FOUND.code();
    }

    private void print(NodeVote vote) {
        boolean declared = vote.answer() == NodeVote.Answer.GRANTED;
        if (json) {
            Map<String, Object> line = new LinkedHashMap<>();
            line.put("node", vote.node());
            line.put("declared", declared);
            line.put("detail", vote.detail());
            invocation.terminal().printJson(line);
        } else {
            invocation
                    .terminal()
                    .print(SafeText.line(vote.node() + "  " + (declared ? "" : "not declared: ") + vote.detail()));
        }
    }
}
