"""Claims: checks published numbers against what this project counts, compiles and runs.

`model` reads a family's `claims.py`. Its functions run twice: first without evidence, to collect their
requests (`evidence_context`), then with the gathered evidence (`gather`). Their figures decide the verdict
(`verdict`, `wording`), which `report` prints and writes to pages. Nothing here measures time. Only the
command `claims` and the claims.py files import this package. This is a claim, where `e` is its evidence:

    @Claim("reproduced", PULL_7["30"], on="any", seq=128 * Ki)
    def temporaries(e):
        \"\"\"The scatter needs 64 MiB.

        It holds one mask.\"\"\"
        yield Figure("temp", "B", published="64Mi", found=e.temp_bytes("scatter", "tpu:v5p"))
"""

from harness.claims.documents import Source as Source
from harness.claims.model import Claim as Claim
from harness.claims.model import Figure as Figure
from harness.claims.quantity import Gi as Gi
from harness.claims.quantity import Ki as Ki
from harness.claims.quantity import Mi as Mi
from harness.claims.quantity import ceil as ceil
from harness.claims.quantity import every as every
from harness.claims.quantity import floor as floor
from harness.claims.quantity import largest as largest
from harness.claims.quantity import log as log
from harness.claims.quantity import log2 as log2
from harness.claims.quantity import number as number
from harness.claims.quantity import smallest as smallest
